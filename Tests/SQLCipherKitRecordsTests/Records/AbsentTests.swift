import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// A value, NULL and nothing at all are three things, however a record is written.
@Suite struct AbsentTests {
    struct Plain: SQLRecord, Equatable {
        var id: Int64?
        var a: Int?
        var b: String?
        static let tableName = "t"
    }

    struct Defaulted: SQLRecord, Equatable {
        var id: Int64?
        @ColumnDefault var a: Int?
        @ColumnDefault var b: String?
        static let tableName = "t"
    }

    struct Narrow: Codable { var id: Int64?, a: Int? }

    /// Leaves a key out by itself.
    struct Handmade: SQLRecord {
        var id: Int64?
        var a: Int?
        var b: String?
        var leavesOut = false
        static let tableName = "t"
        enum CodingKeys: CodingKey { case id, a, b }
        init(id: Int64? = nil, leavesOut: Bool) { (self.id, self.leavesOut) = (id, leavesOut) }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decodeIfPresent(Int64.self, forKey: .id)
            a = try container.decodeIfPresent(Int.self, forKey: .a)
            b = try container.decodeIfPresent(String.self, forKey: .b)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            if !leavesOut { try container.encode(a, forKey: .a) }
            try container.encodeIfPresent(b, forKey: .b)
        }
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a INT DEFAULT 0, b TEXT DEFAULT 'none')")
    }

    private func row(_ id: Int) throws -> [SQLValue] {
        try db.fetchOne(OwnedRow.self, "SELECT a, b FROM t WHERE id = \(id)")?.values ?? []
    }

    @Test func nilPropertyIsWrittenAsNull() throws {
        var plain = Plain()
        try db.insert(&plain)
        #expect(plain == Plain(id: 1) && plain.a == nil)
        try db.insert(Plain(id: 2))
        try db.insertAll([Plain(id: 3)])
        try db.upsert(Plain(id: 4))
        try db.insert(Plain(id: 5), into: "t")
        for id in 1...5 { #expect(try row(id) == [.null, .null], "\(id)") }
        try db.execute("UPDATE t SET a = 1, b = 'x'")
        try db.upsert(Plain(id: 1))
        try db.update(Plain(id: 2))
        try db.updateChanges(Plain(id: 3), from: Plain(id: 3, a: 1, b: "x"))
        try db.insert(Plain(id: 4), onConflict: .replace)
        try db.insert(Plain(id: 5), into: "t", onConflict: .replace)
        for id in 1...5 { #expect(try row(id) == [.null, .null], "\(id)") }
        // Where there can be no NULL, that is said.
        try db.execute("CREATE TABLE strict(id INTEGER PRIMARY KEY, a INT NOT NULL DEFAULT 0)")
        let error = #expect(throws: DatabaseError.self) { try db.insert(Narrow(id: 1), into: "strict") }
        #expect(error?.code == .constraintNotNull)
    }

    @Test func unsetPropertyTakesDefaultOrKeepsColumn() throws {
        var one = Defaulted()
        try db.insert(&one)
        #expect(one.a == 0 && one.b == "none" && one.$a.isSet)
        one.a = nil
        try db.update(one)
        #expect(try row(1) == [.null, "none"])
        try db.insert(Defaulted(id: 2, a: nil))
        #expect(try row(2) == [.null, "none"])
        try db.insert(Defaulted(id: 3, a: 5, b: nil))
        #expect(try row(3) == [5, .null])
        var four = Defaulted(id: 4, b: "x")
        try db.upsert(&four)
        #expect(four == Defaulted(id: 4, a: 0, b: "x"))
        try db.upsert(Defaulted(id: 4, a: 9))
        #expect(try row(4) == [9, "x"])
        try db.update(Defaulted(id: 4, b: nil))
        #expect(try row(4) == [9, .null])
        four.$a = ColumnDefault()
        #expect(try db.updateChanges(four, from: Defaulted(id: 4, a: 1, b: nil)) == ["b"])
        #expect(try row(4) == [9, "x"])
        try db.insert(Defaulted(id: 5), into: "t")
        #expect(try row(5) == [0, "none"])
        // A column that was not read is not written either.
        let read = try db.fetchAll(Defaulted.self, "SELECT id, a FROM t WHERE id = 4")
        #expect(read.map(\.$b.isSet) == [false])
        try db.update(read[0])
        #expect(try row(4) == [9, "x"])
        try db.insert(Handmade(id: 6, leavesOut: true))
        try db.insert(Handmade(id: 7, leavesOut: false))
        #expect(try row(6) == [0, .null] && row(7) == [.null, .null])
    }

    @Test func unsetPropertyIsOmittedFromJSON() throws {
        #expect(try JSONBEncoder().encodeText(Defaulted(id: 1, a: nil)) == #"{"id":1,"a":null}"#)
        let back = try JSONDecoder().decode(Defaulted.self, from: JSONEncoder().encode(Defaulted(b: "x")))
        #expect(back == Defaulted(b: "x") && !back.$a.isSet)
        #expect(try JSONBEncoder().encodeText([1, nil, ColumnDefault()] as [ColumnDefault<Int>]) == "[1,null,null]")
    }

    /// Records with now these, now other keys: each statement is compiled once.
    @Test func statementPerSetOfKeysIsCompiledOnce() throws {
        let compiled = Counter()
        try db.settings.setAuthorizer { access in
            if access.action == .insert, access.first == "t" { compiled.count += 1 }
            return .allow
        }
        for round in 0..<20 {
            try db.insert(Defaulted(a: round % 2 == 0 ? 1 : ColumnDefault()))
            try db.insert(Plain(a: nil, b: "b"))
        }
        try db.settings.setAuthorizer(nil)
        #expect(compiled.count == 3)
        #expect(try db.fetchAll(Int?.self, "SELECT a FROM t WHERE b = 'none' ORDER BY id") == (0..<20).map { $0 % 2 == 0 ? 1 : 0 })
    }

    private final class Counter: @unchecked Sendable {
        // Sendable: counted on the connection's thread only.
        var count = 0
    }

    /// From database to database, every row stays the same.
    @Test func copyingRowsKeepsNull() throws {
        let folder = try TemporaryFolder()
        let rows: [(Int?, String?)] = [(nil, nil), (0, nil), (nil, "none"), (5, "x"), (nil, "")]
        for (a, b) in rows { try db.execute("INSERT INTO t(a, b) VALUES (?, ?)", [a, b]) }
        let all = try db.fetchAll(OwnedRow.self, "SELECT * FROM t").map(\.values)
        func other(_ name: String) throws -> Connection {
            let other = try Connection(.file(folder.path(name)), key: .passphrase("secret").quick)
            try other.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a INT DEFAULT 0, b TEXT DEFAULT 'none')")
            return other
        }
        func check(_ other: Connection, _ location: SourceLocation = #_sourceLocation) throws {
            #expect(try other.fetchAll(OwnedRow.self, "SELECT * FROM t").map(\.values) == all, sourceLocation: location)
        }
        for way in 0..<5 {
            let target = try other("\(way)")
            let plain = try db.fetchAll(Plain.all)
            switch way {
            case 0: try target.insertAll(plain)
            case 1: for record in plain { try target.upsert(record) }
            case 2: try target.insertAll(try db.fetchAll(Defaulted.self, "SELECT * FROM t"))
            case 3: for record in plain { try target.insert(record, into: "t") }
            default:
                var records = plain
                try target.insertAll(&records)
                #expect(records == plain)
            }
            try check(target)
        }
    }
}
