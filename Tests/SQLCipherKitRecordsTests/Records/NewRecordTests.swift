import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// Records whose key cannot be nil, so that 0 marks a new record, as in SkipSQL.
@Suite struct NewRecordTests {
    protocol Numbered: SQLRecord, Equatable, Sendable {
        var id: Int64 { get set }
        var title: String { get set }
        init(title: String)
    }

    struct Described: Numbered {
        var id: Int64 = 0
        var title: String
        static let tableName = "visit"
        static let table = SQLTable(of: Described.self) {
            $0.id.primaryKey(autoincrement: true)
            $0.title.unique()
        }
        init(title: String) { self.title = title }
    }

    /// The key is read from the schema.
    struct Found: Numbered {
        var id: Int64 = 0
        var title: String
        static let tableName = "visit"
        init(title: String) { self.title = title }
    }

    struct Positional: Numbered, SQLPositionalRecord {
        var id: Int64 = 0
        var title: String
        static let tableName = "visit"
        static let recordColumns = SQLRecordColumns(of: Positional.self, ["id": \.id, "title": \.title])
        init(title: String) { self.title = title }
        init(columns: inout SQLColumnReader) throws { (id, title) = (try columns.next(), try columns.next()) }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(title)
        }
    }

    /// Every way of writing that can make a row.
    enum Way: CaseIterable {
        case insert, insertWithoutReading, insertReplacing, insertAll, insertAllReading, upsert, upsertWithoutReading, upsertOn, save

        func write<Record: Numbered>(_ record: inout Record, _ db: Connection) throws {
            switch self {
            case .insert: try db.insert(&record)
            case .insertWithoutReading: try db.insert(record)
            case .insertReplacing: try db.insert(&record, onConflict: .replace)
            case .insertAll: try db.insertAll([record])
            case .insertAllReading:
                var records = [record]
                try db.insertAll(&records)
                record = records[0]
            case .upsert: try db.upsert(&record)
            case .upsertWithoutReading: try db.upsert(record)
            case .upsertOn: try db.upsert(&record, SQLUpsert<Record>())
            case .save: try db.save(&record)
            }
        }

        var readsBack: Bool { ![.insertWithoutReading, .insertAll, .upsertWithoutReading].contains(self) }
    }

    static let types: [any Numbered.Type] = [Described.self, Found.self, Positional.self]

    @Test(arguments: Way.allCases) func autoincrementKeyOfZeroInsertsNewRow(way: Way) throws {
        func check<Record: Numbered>(_ type: Record.Type) throws {
            let db = try Connection(.memory)
            try db.create(Described.table)
            // A row that an earlier program has numbered 0 stays, too.
            try db.execute("INSERT INTO visit VALUES (0, 'zero')")
            var a = Record(title: "a"), b = Record(title: "b")
            try way.write(&a, db)
            try way.write(&b, db)
            #expect(try db.fetchAll(String.self, "SELECT title FROM visit ORDER BY id") == ["zero", "a", "b"], "\(type)")
            if way.readsBack {
                #expect(a.id == 1 && b.id == 2, "\(type)")
                // Then it has a key, and the same call changes its row.
                b.title = "c"
                if way == .save { try way.write(&b, db) } else { try db.update(b) }
                #expect(try db.fetchAll(String.self, "SELECT title FROM visit ORDER BY id") == ["zero", "a", "c"], "\(type)")
            }
        }
        for type in Self.types { try check(type) }
    }

    /// Elsewhere 0 is a number as any other: such as the key of a table that has one row.
    @Test func zeroIsAnOrdinaryKeyWithoutAutoincrement() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE visit(id INTEGER PRIMARY KEY, title TEXT)")
        var only = Found(title: "a")
        try db.save(&only)
        only.title = "b"
        try db.save(&only)
        #expect(try db.fetchAll(Found.all) == [only] && only.id == 0)
    }
}
