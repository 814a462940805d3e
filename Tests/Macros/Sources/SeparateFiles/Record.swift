import Foundation
import SQLCipherKit

@Record(indexes: [SQLIndex("label_name", on: ["name"])])
struct Label: Identifiable, Equatable {
    @PrimaryKey var id: Int64?
    var name: String
    var stars = 0
    @Column("artist_id") @References(Artist.self, onDelete: .cascade) var artist: Int64?
    @Stored(dates: .integerSeconds) var added = Date(timeIntervalSince1970: 0)
    @Ignored var isOpen = false
}

@Record("artist")
public struct Artist {
    @PrimaryKey public var id: Int64?
    public var name: String
}

enum Shop {
    @Record("shop_order") struct Order {
        @PrimaryKey var id: Int64?
        var label: Int64
    }
}
