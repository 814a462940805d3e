import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// Every call that writes a record tells that the table or a trigger left it out, in its result or by an error.
@Suite struct IgnoredWriteTests {
    protocol Entry: SQLRecord {
        init(id: Int64?, name: String, stars: Int)
        var id: Int64? { get set }
        var stars: Int { get set }
        // With key paths to the type's own properties.
        static func updateColumns(_ entry: Self, _ db: Connection) throws
        static func updateAll(_ db: Connection) throws -> Int
    }
    struct Plain: Entry, Equatable {
        static let tableName = "entry"
        var id: Int64?
        var name: String
        var stars: Int
        static func updateColumns(_ entry: Self, _ db: Connection) throws { try db.update(entry, columns: \.stars, \.name) }
        static func updateAll(_ db: Connection) throws -> Int { try db.updateAll(all) { _, set in set(\.stars, to: 9) } }
    }
    struct Described: Entry, Equatable {
        static let table = SQLTable(of: Described.self) {
            $0.id.primaryKey()
            $0.name.unique(onConflict: .ignore)
            $0.stars
        }
        static let tableName = "entry"
        var id: Int64?
        var name: String
        var stars: Int
        static func updateColumns(_ entry: Self, _ db: Connection) throws { try db.update(entry, columns: \.stars, \.name) }
        static func updateAll(_ db: Connection) throws -> Int { try db.updateAll(all) { _, set in set(\.stars, to: 9) } }
    }
    struct ByPosition: Entry, SQLPositionalRecord, Equatable {
        static let tableName = "entry"
        static let recordColumns = SQLRecordColumns(of: ByPosition.self, ["id": \.id, "name": \.name, "stars": \.stars])
        var id: Int64?
        var name: String
        var stars: Int
        init(id: Int64?, name: String, stars: Int) { (self.id, self.name, self.stars) = (id, name, stars) }
        init(columns: inout SQLColumnReader) throws {
            (id, name, stars) = (try columns.next(), try columns.next(), try columns.next())
        }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(name)
            try columns.put(stars)
        }
        static func updateColumns(_ entry: Self, _ db: Connection) throws { try db.update(entry, columns: \.stars, \.name) }
        static func updateAll(_ db: Connection) throws -> Int { try db.updateAll(all) { _, set in set(\.stars, to: 9) } }
    }

    enum Way: String, CaseIterable {
        case insertTrigger, updateTrigger, deleteTrigger, conflict
    }

    /// The calls that insert, with how many rows they say they have written; nil where an error says it.
    private static func insertions<E: Entry>(_ type: E.Type) -> [(String, (Connection, E) throws -> Int?)] {
        [
            ("insert", { try $0.insert($1); return nil }),
            ("insert(&)", { var e = $1; try $0.insert(&e); return nil }),
            ("insert onConflict", { try $0.insert($1, onConflict: nil) ? 1 : 0 }),
            ("insert(&) onConflict", { var e = $1; return try $0.insert(&e, onConflict: nil) ? 1 : 0 }),
            ("inserted", { _ = try $0.inserted($1); return nil }),
            ("insertAll", { try $0.insertAll([$1]) }),
            ("insert array", { try $0.insert([$1]) }),
            ("insertAll(&)", { var all = [$1]; return try $0.insertAll(&all) }),
            ("upsert", { try $0.upsert($1); return nil }),
            ("upsert(&)", { var e = $1; try $0.upsert(&e); return nil }),
            ("upsert as", { try $0.upsert($1, SQLUpsert<E>().ignoring) ? 1 : 0 }),
            ("save", { var e = $1; try $0.save(&e); return nil }),
        ]
    }

    private static func updates<E: Entry>(_ type: E.Type) -> [(String, (Connection, E) throws -> Int?)] {
        [
            ("update", { try $0.update($1); return nil }),
            ("update array", { try $0.update([$1]); return nil }),
            ("updateChanges in a closure", { db, e in
                var before = e
                before.stars += 1
                try db.updateChanges(&before) { $0.stars = e.stars }
                return nil
            }),
            ("update(&)", { var e = $1; try $0.update(&e); return nil }),
            ("update columns", { try E.updateColumns($1, $0); return nil }),
            ("updateChanges", { db, e in
                var before = e
                before.stars += 1
                try db.updateChanges(e, from: before)
                return nil
            }),
            ("save", { var e = $1; try $0.save(&e); return nil }),
            ("updateAll", { db, _ in try E.updateAll(db) }),
        ]
    }

    private static func deletions<E: Entry>(_ type: E.Type) -> [(String, (Connection, E) throws -> Int?)] {
        [
            ("delete", { try $0.delete($1) ? 1 : 0 }),
            ("delete id", { try $0.delete(E.self, id: $1.id) ? 1 : 0 }),
            ("delete ids", { try $0.delete(E.self, ids: [$1.id]) }),
            ("deleteAll", { db, _ in try db.deleteAll(E.all) }),
            ("delete array", { try $0.delete([$1]) }),
        ]
    }

    private func check<E: Entry & Equatable>(_ type: E.Type, _ way: Way) throws {
        let isInsertion = way == .insertTrigger || way == .conflict
        let calls = isInsertion ? Self.insertions(type) : way == .updateTrigger ? Self.updates(type) : Self.deletions(type)
        for (name, call) in calls {
            let db = try Connection(.memory)
            try db.execute("CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT IGNORE, stars INT)")
            try db.execute("INSERT INTO entry VALUES (1, 'a', 1)")
            let event = ["insertTrigger": "INSERT", "updateTrigger": "UPDATE", "deleteTrigger": "DELETE"][way.rawValue]
            if let event { try db.execute(SQL(raw: "CREATE TRIGGER t BEFORE \(event) ON entry BEGIN SELECT RAISE(IGNORE); END")) }
            let entry = isInsertion ? E(id: nil, name: way == .conflict ? "a" : "b", stars: 2) : E(id: 1, name: "a", stars: 2)
            do {
                let count = try call(db, entry)
                #expect(count == 0, "\(type) \(way) \(name)")
            } catch let error as DatabaseError {
                #expect(error.reason == .writeIgnored && error.code == .constraint, "\(type) \(way) \(name): \(error)")
            }
            #expect(try db.fetchAll(E.all) == [E(id: 1, name: "a", stars: 1)], "\(type) \(way) \(name)")
            // A row that is not there is another error.
            if way == .updateTrigger, name != "save", name != "updateAll" {
                let error = #expect(throws: DatabaseError.self) { _ = try call(db, E(id: 7, name: "x", stars: 2)) }
                #expect(error?.reason == .recordNotFound, "\(type) \(name)")
            }
        }
    }

    @Test(arguments: Way.allCases) func ignoredWriteIsReportedByEveryCall(_ way: Way) throws {
        try check(Plain.self, way)
        try check(Described.self, way)
        try check(ByPosition.self, way)
    }

    /// A row that a trigger writes elsewhere is not the record's.
    @Test func divertedWriteIsIgnoredWrite() throws {
        let db = try Connection(.memory)
        try db.execute(
            SQLScript("""
                CREATE TABLE entry(id INTEGER PRIMARY KEY, name TEXT UNIQUE, stars INT);
                CREATE TABLE other(name TEXT);
                CREATE TRIGGER t BEFORE INSERT ON entry BEGIN INSERT INTO other VALUES (new.name); SELECT RAISE(IGNORE); END;
                """))
        var entry = Plain(id: nil, name: "a", stars: 0)
        #expect(throws: DatabaseError.self) { try db.insert(&entry) }
        #expect(try db.fetchAll(String.self, "SELECT name FROM other") == [])
        #expect(throws: DatabaseError.self) { try db.insert(entry) }
        #expect(throws: DatabaseError.self) { try db.upsert(entry) }
        #expect(try db.fetchAll(String.self, "SELECT name FROM other") == [])
        #expect(try db.insert(entry, onConflict: nil) == false && db.insertAll([entry]) == 0)
        #expect(try db.count(Plain.all) == 0)
    }
}
