import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Files as other packages write them: made by SQL, after the rules that each documents, and used through the profile for it.
@Suite struct PeerFormatTests {
    struct Peer: Sendable, CustomTestStringConvertible {
        var name: String
        var profile: ValueProfile
        /// The declaration of the package, or of its users.
        var declaration: String
        /// SQL for the date `d`, in seconds since 1970, and for the UUID `u`, as text in capitals.
        var date: String
        var uuid = "u"
        var price = "p"

        var testDescription: String { name }
    }

    static let peers = [
        Peer(
            name: "sap", profile: .sap, declaration: "id TEXT PRIMARY KEY, created INTEGER, price REAL",
            date: "CAST(d AS INTEGER)"),
        Peer(
            name: "dataLiteCore", profile: .dataLiteCore, declaration: "id TEXT PRIMARY KEY, created TEXT, price REAL",
            date: "strftime('%Y-%m-%dT%H:%M:%SZ', d, 'unixepoch')"),
        Peer(
            name: "skipSQL", profile: .skipSQL, declaration: "id TEXT PRIMARY KEY, created REAL, price REAL",
            date: "CAST(d AS REAL)"),
        Peer(
            name: "grdb", profile: .grdb, declaration: "id BLOB PRIMARY KEY, created DATETIME, price",
            date: "strftime('%Y-%m-%d %H:%M:%f', d, 'unixepoch')", uuid: "unhex(u, '-')", price: "CAST(p AS TEXT)"),
        Peer(
            name: "sqliteSwift", profile: .sqliteSwift, declaration: "id TEXT PRIMARY KEY, created TEXT, price REAL",
            date: "strftime('%Y-%m-%dT%H:%M:%f', d, 'unixepoch')"),
        Peer(
            name: "sqlite", profile: .sqlite,
            declaration: "id BLOB PRIMARY KEY, created TEXT DEFAULT CURRENT_TIMESTAMP, price NUMERIC",
            date: "datetime(d, 'unixepoch')", uuid: "unhex(u, '-')"),
    ]

    struct Event: SQLRecord, Equatable {
        var id: UUID
        var created: Date
        var price: Decimal
    }

    static func uuid(_ number: Int) -> UUID { UUID(uuidString: "0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1\(10 + number)") ?? UUID() }
    static func date(_ number: Int) -> Date { Date(timeIntervalSince1970: 1_795_249_800 + Double(number) * 86400) }

    private static func make(_ peer: Peer, _ path: String, _ key: DatabaseKey?) throws {
        let db = try Connection(.file(path), key: key)
        try db.execute(SQL(raw: "CREATE TABLE event(\(peer.declaration))"))
        for number in 0..<20 {
            try db.execute(SQL(
                raw: """
                    INSERT INTO event SELECT \(peer.uuid), \(peer.date), \(peer.price)
                    FROM (SELECT ? AS u, ? AS d, ? AS p)
                    """, [uuid(number).uuidString, Int(date(number).timeIntervalSince1970), Double(number) + 0.5]))
        }
    }

    @Test(arguments: peers) func peerFormatFileIsReadAndWritten(_ peer: Peer) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("peer.db"), key = try DatabaseKey.passphrase("secret").quick
        try Self.make(peer, path, key)
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = peer.profile
        let db = try Connection(.file(path), key: key, configuration: configuration)
        let half = try #require(Decimal(string: "0.5"))
        let expected = (0..<20).map { Event(id: Self.uuid($0), created: Self.date($0), price: Decimal($0) + half) }
        #expect(try db.fetchAll(Event.all.order { $0.created }) == expected)
        // The values of the file, and of the Swift types, are the same to SQL.
        let (id, created) = (Self.uuid(7), Self.date(7))
        #expect(try db.fetchOne(Date.self, "SELECT created FROM event WHERE id = \(id)") == created)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM event WHERE created >= \(created)") == 13)
        #expect(try db.count(Event.filter { $0.created < created }) == 7)
        #expect(try db.count(Event.filter { $0.id.in([id, Self.uuid(8)]) && $0.created == created }) == 1)
        #expect(try db.count(Event.filter { $0.price == expected[7].price }) == 1)
        #expect(try db.fetchOne(Event.self, id: id) == expected[7])
        // Written values have the form of the values that were there, and are found in their place.
        func forms() throws -> [OwnedRow] {
            try db.fetchAll(OwnedRow.self, """
                SELECT DISTINCT typeof(id), length(id), typeof(created), iif(typeof(created) = 'text', length(created), 0),
                    typeof(price)
                FROM event
                """)
        }
        let before = try forms()
        #expect(before.count == 1)
        var event = expected[7]
        event.created = Self.date(30)
        try db.update(event)
        try db.upsert(event)
        try db.upsert(Event(id: Self.uuid(40), created: Self.date(40), price: event.price))
        try db.execute("UPDATE event SET created = \(Self.date(31)) WHERE id = \(Self.uuid(8))")
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM event") == 21)
        #expect(try forms().map(\.values) == before.map(\.values))
        #expect(try db.fetchAll(Date.self, "SELECT created FROM event ORDER BY created DESC LIMIT 3")
            == [40, 31, 30].map(Self.date))
        #expect(try db.delete(event))
        // And it is found out which profile that was.
        let report = try db.main.valueReport()
        #expect(report.profileNames.contains(peer.name), "\(report)")
        #expect(report.mixedColumns.isEmpty, "\(report.mixedColumns)")
    }

    @Test(arguments: peers) func peerFormatFileIsConverted(_ peer: Peer) throws {
        let db = try Connection(.memory)
        // Columns without a type keep each value.
        try db.execute("CREATE TABLE event(id PRIMARY KEY, created, price)")
        let folder = try TemporaryFolder()
        try Self.make(peer, folder.path("peer.db"), nil)
        let other = try db.attach(.file(folder.path("peer.db")), as: "other", key: .plaintext)
        try db.execute("INSERT INTO event SELECT * FROM other.event")
        try other.detach()
        try db.main.convertValues(of: "created", in: "event", to: .dates(.timestamp, numbers: .realSeconds))
        try db.main.convertValues(of: "id", in: "event", to: .uuids(.blob))
        try db.main.convertValues(of: "price", in: "event", to: .decimals(.number))
        #expect(try db.count(Event.filter { $0.id == Self.uuid(3) && $0.created == Self.date(3) && $0.price > 3 }) == 1)
        #expect(try db.main.valueReport().profileNames.first == "standard")
    }
}
