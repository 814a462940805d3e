import Foundation
import SQLCipherKit
import Testing

/// Records of the macro beside the same records by `Codable`, in one table.
@Record("named", indexes: [SQLIndex("named_artist", on: [.column("artist_name")])])
struct Named: Equatable {
    static let columnNaming = ColumnNaming.snakeCase
    @PrimaryKey var id: Int64?
    var artistName: String
    @Stored(dates: .integerSeconds) var addedAt: Date
}

@Suite struct RecordTests {
    /// A naming holds for the macro's columns as for columns of coding keys.
    @Test func columnNamingAppliesToMacroColumns() throws {
        let db = try Connection(.memory)
        try db.create(Named.table)
        let named = try db.inserted(Named(artistName: "Lem", addedAt: Date(timeIntervalSince1970: 5)))
        #expect(try db.fetchOne(Int.self, "SELECT added_at FROM named WHERE artist_name = 'Lem'") == 5)
        #expect(try db.fetchAll(Named.filter { $0.artistName == "Lem" && $0.addedAt < .now }) == [named])
        var read: [Named] = []
        try db.forEach("SELECT * FROM named") { row in read.append(try row.decode(Named.self)) }
        #expect(read == [named])
    }

    /// The table of `Album`, by `Codable` and without a description.
    struct CodableAlbum: SQLRecord, Equatable {
        var id: Int64?
        var title: String
        var artist_id: Int64?
        var year: Int?
        @ColumnDefault var tracks: Int?
        var added: Date
        var tags: [String]
        var shown: String?
        static let tableName = "album"
        static let columnProfiles: [String: ValueProfile] = ["added": .sap]

        init(_ album: Album) {
            (id, title, artist_id, year) = (album.id, album.title, album.artist, album.year)
            (_tracks, added, tags, shown) = (album.$tracks, album.added, album.tags, album.shown)
        }
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.create(Artist.table)
        try db.create(Album.table)
        try db.insertAll([Artist(id: 1, name: "Monk"), Artist(id: 2, name: "Duke", country: "US")])
    }

    /// Albums that differ in each value, by number.
    private func album(_ id: Int64?, _ number: Int) -> Album {
        var album = Album(
            id: id, title: ["", "a", "é'\u{0}日"][number % 3], artist: [nil, 1, 2][number / 3 % 3],
            year: [nil, 1950, 1970][number / 9 % 3], added: Date(timeIntervalSince1970: Double(number * 1000 % 10_009 - 9)),
            tags: [[], ["x"], ["\"", "é"]][number / 2 % 3])
        if number % 4 < 2 { album.tracks = number % 4 == 0 ? nil : 3 }
        return album
    }

    @Test func macroAndCodableRecordsReadEachOther() throws {
        for number in 0..<60 {
            var album = album(number % 2 == 0 ? nil : Int64(number * 3 + 1000), number)
            if number % 3 == 0 {
                var other = CodableAlbum(album)
                try db.insert(&other)
                album = try #require(try db.fetchOne(Album.self, id: other.id))
                #expect(CodableAlbum(album) == other)
            } else {
                try db.insert(&album)
                #expect(try db.fetchOne(CodableAlbum.self, id: album.id) == CodableAlbum(album))
            }
            let before = album
            album = self.album(album.id, 7 * number + 5)
            if number % 2 == 0 { try db.update(album) } else { try db.updateChanges(album, from: before) }
            try db.refresh(&album)
            #expect(try db.fetchOne(CodableAlbum.self, id: album.id) == CodableAlbum(album))
            // By coding keys, which have the columns' names.
            let id = try #require(album.id)
            let decoded = try #require(try db.fetchOne(Album.self, "SELECT * FROM album WHERE id = \(id)"))
            #expect(CodableAlbum(decoded) == CodableAlbum(album))
        }
        #expect(try db.fetchAll(Album.order { $0.id }).map { CodableAlbum($0) } == db.fetchAll(CodableAlbum.order { $0.id }))
    }

    @Test func macroTableDescriptionCreatesItsSQL() throws {
        let text = try #require(try db.fetchOne(String.self, "SELECT sql FROM sqlite_schema WHERE name = 'album'"))
        #expect(text == """
            CREATE TABLE "album"("id" INTEGER PRIMARY KEY, "title" TEXT NOT NULL, \
            "artist_id" INTEGER REFERENCES "artist" ON DELETE CASCADE, "year" INTEGER, "tracks" INTEGER DEFAULT 10 CHECK (tracks > 0), \
            "added" ANY NOT NULL, "tags" TEXT NOT NULL, "shown" TEXT GENERATED ALWAYS AS (upper(title)) VIRTUAL) STRICT
            """)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'album_artist'") == 1)
        var album = Album(title: "x", artist: 1, added: .distantPast)
        try db.insert(&album)
        #expect(album.tracks == 10 && album.shown == "X")
        #expect(try db.fetchOne(String.self, "SELECT typeof(added) FROM album") == "integer")
        try db.delete(Artist.self, id: 1)
        #expect(try db.count(Album.all) == 0)
    }

    @Test func macroQueriesUseColumnNames() throws {
        try db.insertAll([Album(title: "b", artist: 1, year: 1958, added: .distantPast), Album(title: "a", added: .distantPast)])
        #expect(try db.sql(of: Album.filter { $0.artist == 1 && $0.tracks > 2 }).text.hasSuffix("""
            WHERE "album"."artist_id" = ? AND "album"."tracks" > ?
            """))
        #expect(try db.fetchAll(Album.filter { $0.artist == 1 && $0.tracks > 2 }).map(\.title) == ["b"])
        let pairs = try db.fetchAll(Artist.leftJoin(Album.self).order { $0.name.descending; $1.title })
        #expect(pairs.map { [$0.0.name, $0.1?.title] } == [["Monk", "b"], ["Duke", nil]])
        try db.updateAll(Album.filter { $0.year == nil }) { _, set in set(\.artist, to: 2); set(\.tags, to: ["new"]) }
        #expect(try db.fetchOne(Album.filter { $0.artist == 2 })?.tags == ["new"])
        #expect(try db.fetchOne(Album.self, id: 1)?.isOld == true)
    }
}
