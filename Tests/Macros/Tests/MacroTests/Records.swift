import Foundation
import SQLCipherKit

@Record
struct Artist: Equatable {
    @PrimaryKey var id: Int64?
    @Column(unique: true, collate: "NOCASE") var name: String
    var country: String?
}

@Record("album", options: .strict, indexes: [SQLIndex("album_artist", on: [.column("artist_id"), .column("year", isDescending: true)])])
struct Album: Equatable {
    @PrimaryKey var id: Int64?
    var title: String
    @Column("artist_id") @References(Artist.self, onDelete: .cascade) var artist: Int64?
    var year: Int? {
        didSet { changes += 1 }
    }
    @Column(default: 10, check: "tracks > 0") @ColumnDefault var tracks: Int?
    @Stored(dates: .integerSeconds) var added: Date
    var tags: [String] = []
    @Generated(as: "upper(title)") private(set) var shown: String?
    @Ignored var changes = 0
    var isOld: Bool { (year ?? 0) < 1960 }
    static let limit = 3
}
