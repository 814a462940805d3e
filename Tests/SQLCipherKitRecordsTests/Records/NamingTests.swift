import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// The names by which properties and columns find each other.
@Suite struct NamingTests {
    private struct Album: SQLRecord, Equatable {
        static let columnNaming = ColumnNaming.snakeCase
        static let columnProfiles: [String: ValueProfile] = ["added_at": .sap]

        var id: Int64?
        var artistID: Int64
        var coverURL: URL?
        var addedAt: Date
        var tagNames: [String] = []
    }

    private struct Described: SQLRecord, Equatable {
        static let columnNaming = ColumnNaming.snakeCase
        static let table = SQLTable(of: Described.self) {
            $0.id.primaryKey()
            $0.firstName.unique()
            $0.stars
        }

        var id: Int64?
        var firstName: String
        var stars = 0
    }

    @Test func snakeCaseNamingConvertsPropertyNames() {
        let names = ["id", "artistID", "httpURLPath", "isA", "URL", "name2", "snake_case", "a_B", "größeMax", ""]
        let expected = ["id", "artist_id", "http_url_path", "is_a", "url", "name2", "snake_case", "a_b", "größe_max", ""]
        #expect(names.map(ColumnNaming.snakeCase.callAsFunction) == expected)
        #expect(names.map(ColumnNaming.codingKeys.callAsFunction) == names)
        #expect(ColumnNaming.custom { "c_" + $0 }("id") == "c_id")
    }

    /// Every way of writing and of reading a record goes by its naming.
    @Test func columnNamingAppliesToAllRecordCalls() throws {
        let made = try EncryptedDatabase(), db = made.db
        try db.execute("CREATE TABLE album(id INTEGER PRIMARY KEY, artist_id, cover_url, added_at, tag_names)")
        let date = Date(timeIntervalSince1970: 1_795_249_800)
        var album = Album(artistID: 7, coverURL: URL(string: "x:y"), addedAt: date, tagNames: ["a"])
        try db.insert(&album)
        try db.insert(Album(id: 2, artistID: 8, addedAt: date), into: "album")
        try db.insertAll([Album(id: 3, artistID: 9, addedAt: date)])
        #expect(try db.fetchOne(Int.self, "SELECT added_at FROM album WHERE artist_id = 7") == 1_795_249_800)
        #expect(try db.fetchOne(Album.self, id: 1) == album)
        #expect(try db.fetchAll(Album.self, "SELECT * FROM album ORDER BY id").first == album)
        #expect(try db.fetchAll(Album.filter { $0.artistID == 7 && $0.addedAt == date && $0.coverURL != nil }) == [album])
        #expect(try db.fetchAll(Album.order(\.artistID).select { $0.artistID }) == [7, 8, 9])
        let before = album
        album.artistID = 70
        #expect(try db.updateChanges(album, from: before) == ["artist_id"])
        album.tagNames = ["b"]
        album.coverURL = nil
        try db.update(album, columns: \.tagNames)
        #expect(try db.fetchOne(Album.self, id: 1)?.coverURL != nil && db.find(Album.self, id: 1).tagNames == ["b"])
        try db.updateAll(Album.all) { _, set in set(\.artistID, to: 5) }
        try db.upsert(&album)
        try db.save(&album)
        try db.refresh(&album)
        #expect(album.artistID == 70 && album.coverURL == nil)
        #expect(try db.findOrInsert(Album(artistID: 70, addedAt: date), on: \.artistID) == album)
        #expect(try db.main.differences(from: [Album.self]).isEmpty)
        #expect(try db.delete(album))
    }

    @Test func columnNamingAppliesToTableDescription() throws {
        let made = try EncryptedDatabase(), db = made.db
        try db.create(Described.table)
        #expect(try db.main.columns(of: "described").map(\.name) == ["id", "first_name", "stars"])
        let one = try db.inserted(Described(firstName: "Ada"))
        #expect(try db.fetchAll(Described.filter { $0.firstName == "Ada" }) == [one])
        #expect(throws: DatabaseError.self) { try db.update(Described(id: 9, firstName: "x"), columns: \.stars) }
        #expect(throws: DatabaseError.self) { try db.update(one, columns: \.self) }
    }

    private struct Empty: Codable, Equatable {}
    private struct Nothing: Codable, Equatable {}
    private struct Only: Codable, Equatable {}

    private struct Padded: SQLRecord, Equatable {
        var id: Int64?
        var first = Empty()
        var second = Nothing()
        var third = Empty()
        var name: String
        var last = Nothing()
        var note: String?
        var only = Only()
        var end = Empty()
        var stars = 0
    }

    /// A property without a size lies where the next property does.
    @Test func zeroSizedPropertiesFindTheirColumns() throws {
        let made = try EncryptedDatabase(), db = made.db
        try db.execute("CREATE TABLE padded(id INTEGER PRIMARY KEY, first, second, third, name, last, note, only, end, stars)")
        try db.insertAll([Padded(name: "a", note: "b", stars: 3), Padded(name: "c", stars: 4)])
        #expect(try db.fetchAll(Padded.filter { $0.name == "a" }).count == 1)
        #expect(try db.fetchAll(Padded.filter { $0.note == "b" }).count == 1)
        #expect(try db.fetchAll(Padded.filter { $0.stars == 4 }.select { $0.name }) == ["c"])
        #expect(try db.sql(of: Padded.filter { $0.only == Only() }).text.contains("\"only\""))
        // Key paths of two properties of one type without a size are equal.
        #expect(throws: DatabaseError.self) { try db.count(Padded.filter { $0.first == Empty() }) }
        #expect(throws: DatabaseError.self) { try db.count(Padded.filter { $0.last == Nothing() }) }
    }

    private struct Page: SQLRecord, Equatable {
        static let tableName = "page_fts"
        var rowid: Int64?
        var title: String
        var body: String
    }

    /// The row id of a full-text table is a property like another.
    @Test func fullTextTableRowIDIsARecordKey() throws {
        let made = try EncryptedDatabase(), db = made.db
        try db.execute("CREATE VIRTUAL TABLE page_fts USING fts5(title, body)")
        var first = Page(title: "a", body: "b"), second = Page(rowid: 17, title: "c", body: "d")
        try db.insert(&first)
        try db.insert(&second)
        #expect(first.rowid == 1 && second.rowid == 17)
        var many = [Page(title: "e", body: "f"), Page(title: "g", body: "h")]
        try db.insertAll(&many)
        #expect(many.map(\.rowid) == [18, 19])
        #expect(try db.fetchAll(Page.all.order(\.rowid)) == [first, second] + many)
        first.body = "changed"
        try db.update(first)
        #expect(try db.fetchOne(Page.self, id: 1) == first)
        #expect(try db.fetchAll(Page.self, ids: [17, 1]) == [second, first])
        try db.save(&second)
        try db.refresh(&second)
        #expect(try db.delete(second) && db.count(Page.all) == 3)
    }
}
