import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Whatever a positional record does, its `Codable` twin does to the same table.
@Suite struct PositionalRecordTests {
    /// The rows of both tables, as they are stored, in one order of columns.
    private func dump(_ db: Connection, _ table: String) throws -> [[SQLValue]] {
        try db.fetchAll(OwnedRow.self, "SELECT * FROM \(identifier: table) ORDER BY id").map(\.values)
    }

    private func expectSame(_ db: Connection, _ location: SourceLocation = #_sourceLocation) throws {
        let rows = try dump(db, "by_codable")
        #expect(try dump(db, "by_position") == rows, sourceLocation: location)
        let codable = try db.fetchAll(ByCodable.order { $0.id })
        #expect(try db.fetchAll(ByPosition.order { $0.id }).map(\.row) == codable, sourceLocation: location)
        #expect(try db.fetchAll(ByCodable.self, "SELECT * FROM by_position ORDER BY id") == codable, sourceLocation: location)
    }

    @Test(arguments: ValueProfile.namedProfiles.map(\.name))
    func positionalRecordMatchesCodableRecord(profile: String) throws {
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = ValueProfile.namedProfiles.first { $0.name == profile }?.profile ?? .standard
        let db = try Connection(.memory, configuration: configuration)
        try db.execute(ByCodable.creation("by_codable"))
        try db.execute(ByCodable.creation("by_position"))
        var random = SeededGenerator(state: 7)
        var rows: [ByCodable] = []
        for number in 0..<40 { rows.append(.random(id: number % 3 == 0 ? nil : Int64(number * 2 + 1), &random)) }

        // Each way of inserting.
        for (index, row) in rows.enumerated() {
            var a = row, b = ByPosition(row)
            switch index % 4 {
            case 0:
                try db.insert(&a)
                try db.insert(&b)
                #expect(a == b.row)
            case 1:
                try db.insert(row)
                try db.insert(ByPosition(row))
            case 2:
                try db.upsert(&a)
                try db.upsert(&b)
                #expect(a == b.row)
            default:
                try db.insert(row, onConflict: .replace)
                try db.insert(ByPosition(row), onConflict: .replace)
            }
        }
        try expectSame(db)
        var more = (100..<110).map { ByCodable.random(id: $0, &random) }, others = more.map { ByPosition($0) }
        #expect(try db.insertAll(&more) == db.insertAll(&others))
        #expect(more == others.map(\.row))
        try db.insertAll((120..<125).map { ByCodable.random(id: $0, &random) })
        try db.insertAll(db.fetchAll(ByCodable.filter { $0.id >= 120 }).map { ByPosition($0) })
        try expectSame(db)

        // Each way of changing.
        for (index, before) in try db.fetchAll(ByCodable.order { $0.id }).enumerated() {
            let id = try #require(before.id)
            var after = ByCodable.random(id: id, &random)
            // As in the earlier record, so that nothing is left out.
            if index % 8 == 1 { (after.preset, after.presetPlace) = (4, nil) }
            switch index % 4 {
            case 0:
                try db.update(after)
                try db.update(ByPosition(after))
            case 1:
                let changed = try db.updateChanges(after, from: before)
                #expect(try db.updateChanges(ByPosition(after), from: ByPosition(before)).sorted() == changed.sorted())
            case 2:
                try db.upsert(after)
                try db.upsert(ByPosition(after))
            default:
                #expect(try db.delete(before) == db.delete(ByPosition(before)))
            }
            #expect(try db.fetchOne(ByPosition.self, id: id)?.row == db.fetchOne(ByCodable.self, id: id))
            #expect(try db.exists(ByPosition.self, id: id) == db.exists(ByCodable.self, id: id))
        }
        try expectSame(db)

        // In queries: each column by its property.
        for row in try db.fetchAll(ByPosition.all) {
            let id = try #require(row.row.id)
            let found = try db.fetchAll(ByPosition.filter {
                $0.id == id && $0.flag == row.flag && $0.text == row.text && $0.date == row.date && $0.anyDate == row.anyDate
                    && $0.uuid == row.uuid && $0.anyShade == row.anyShade
            })
            #expect(found == [row])
            var read = ByPosition(.random(id: id, &random))
            try db.refresh(&read)
            #expect(read == row)
        }
        try db.updateAll(ByCodable.all) { _, set in set(\.date, to: Date(timeIntervalSince1970: 5)); set(\.tags, to: ["x"]) }
        try db.updateAll(ByPosition.all) { _, set in set(\.date, to: Date(timeIntervalSince1970: 5)); set(\.tags, to: ["x"]) }
        try expectSame(db)
    }

    @Test func positionalRecordMapsToDescribedColumns() throws {
        let db = try Connection(.memory)
        try db.create(Shelf.table)
        var shelf = Shelf(room: 1, place: 2, label: "Maps")
        try db.insert(&shelf)
        #expect(shelf.shown == "MAPS")
        #expect(try db.fetchOne(Shelf.self, id: 1, 2) == shelf)
        #expect(try db.fetchOne(Shelf.self, id: 2, 1) == nil)
        #expect(throws: DatabaseError.self) { try db.fetchOne(Shelf.self, id: 1) }
        let before = shelf
        shelf.label = "Charts"
        #expect(try db.updateChanges(shelf, from: before) == ["name"])
        try db.refresh(&shelf)
        #expect(shelf.shown == "CHARTS")
        // The key that it had before.
        let moved = Shelf(room: 3, place: 2, label: "Charts")
        #expect(try db.updateChanges(moved, from: shelf) == ["room_id"])
        #expect(try db.updateChanges(moved, from: moved).isEmpty)
        let error = #expect(throws: DatabaseError.self) { try db.updateChanges(shelf, from: before) }
        #expect(error?.reason == .recordNotFound)
        #expect(try db.fetchAll(Shelf.filter { $0.label == "charts" }).map(\.room) == [3])
        let rooms = try db.fetchAll(Shelf.all.select { ($0.room, $0.shown) }).map { $0.0 }
        #expect(rooms == [3])
        #expect(try db.fetchOne(Int.self, "SELECT extra FROM shelf") == 5)
        #expect(try db.sql(of: Shelf.filter { $0.room == 3 }).text == """
            SELECT "shelf"."room_id", "shelf"."place", "shelf"."shown", "shelf"."name" FROM "shelf" WHERE "shelf"."room_id" = ?
            """)
        try db.updateAll(Shelf.all) { _, set in set(\.label, to: "x") }
        #expect(try db.fetchOne(String.self, "SELECT name FROM shelf") == "x")
    }

    @Test func joinOfPositionalRecordsReadsOwnColumns() throws {
        let db = try Connection(.memory)
        try db.create(Shelf.table)
        try db.create(Author.table)
        try db.insertAll([Shelf(room: 1, place: 1, label: "a"), Shelf(room: 1, place: 2, label: "b")])
        try db.insert(Author(id: 2, name: "Ada"))
        let pairs = try db.fetchAll(Shelf.leftJoin(Author.self) { $0.place == $1.id }.order { $0.place; $1.id })
        #expect(pairs.map(\.0.label) == ["a", "b"])
        #expect(pairs.map(\.1?.name) == [nil, "Ada"])
        let reversed = try db.fetchAll(Author.all.rightJoin(Shelf.self) { $0.id == $1.place }.order { $1.place })
        #expect(reversed.map(\.1.label) == ["a", "b"])
        let own = try db.fetchAll(Shelf.join(Shelf.self) { $0.place < $1.place })
        #expect(own.map { [$0.0.label, $0.1.label] } == [["a", "b"]])
        let none = try db.fetchAll(Author.all.leftJoin(Shelf.self) { $0.id == $1.room })
        #expect(none.count == 1 && none[0].1 == nil)
    }

    /// A record whose listed columns differ from the columns that it reads and writes.
    private struct Short: SQLPositionalRecord {
        var a: Int, b: Int
        nonisolated(unsafe) static var reads = 2, writes = 2
        static let tableName = "pair"
        static let recordColumns = SQLRecordColumns(of: Short.self, ["a": \.a, "b": \.b])
        init(a: Int, b: Int) { (self.a, self.b) = (a, b) }
        init(columns: inout SQLColumnReader) throws {
            (a, b) = (0, 0)
            for _ in 0..<Self.reads { a = try columns.next() }
        }
        func write(to columns: inout SQLColumnWriter) throws { for _ in 0..<Self.writes { try columns.put(a) } }
    }

    @Test func positionalRecordColumnCountMismatchThrows() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE pair(a INT, b INT, c INT)")
        try db.insert(Short(a: 1, b: 2))
        for count in [0, 1, 3, 9] {
            Short.writes = count
            #expect(throws: DatabaseError.self) { try db.insert(Short(a: 1, b: 2)) }
            #expect(throws: DatabaseError.self) { try db.insertAll([Short(a: 1, b: 2)]) }
            Short.writes = 2
            Short.reads = count
            #expect(throws: DatabaseError.self) { try db.fetchAll(Short.all) }
            #expect(throws: DatabaseError.self) { try db.fetchAll(Short.all.join(Short.self) { $0.a == $1.a }) }
            Short.reads = 2
        }
        #expect(try db.count(Short.all) == 1)
        #expect(try db.fetchAll(Short.all).count == 1)
    }

    private struct Pair: SQLPositionalRecord {
        var a: Int, b: Int
        static let recordColumns = SQLRecordColumns(of: Pair.self, ["a": \.a, "b": \.b])
        init(a: Int, b: Int) { (self.a, self.b) = (a, b) }
        init(columns: inout SQLColumnReader) throws { (a, b) = (try columns.next(), try columns.next()) }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(a)
            try columns.put(b)
        }
    }

    @Test func positionalRecordFollowsChangedKey() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE pair(a INTEGER PRIMARY KEY, b INT)")
        try db.insert(Pair(a: 1, b: 2))
        #expect(try db.fetchOne(Pair.self, id: 1) != nil)
        try db.execute("DROP TABLE pair")
        try db.execute("CREATE TABLE pair(a INT, b INT, PRIMARY KEY (a, b))")
        try db.insert(Pair(a: 1, b: 2))
        #expect(throws: DatabaseError.self) { try db.fetchOne(Pair.self, id: 1) }
        #expect(try db.fetchOne(Pair.self, id: 1, 2) != nil)
    }

    @Test func positionalPropertyWithoutColumnIsRefused() throws {
        let db = try Connection(.memory)
        try db.create(Shelf.table)
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Shelf.filter { $0.isHigh == true }) }
        #expect(error?.reason == .invalidArgument)
    }

    private struct Boxed: SQLPositionalRecord {
        struct Box: Codable, Sendable { var width: Int }
        var box: Box
        static let recordColumns = SQLRecordColumns(of: Boxed.self, ["box": \.box])
        init(columns: inout SQLColumnReader) throws { box = try columns.next() }
        func write(to columns: inout SQLColumnWriter) throws { try columns.put(box) }
    }

    /// The part begins where the property does.
    @Test func nestedPropertyIsNotTakenForItsColumn() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE boxed(box TEXT)")
        let error = #expect(throws: DatabaseError.self) { try db.updateAll(Boxed.all) { _, set in set(\.box.width, to: 1) } }
        #expect(error?.reason == .invalidArgument)
        try db.updateAll(Boxed.all) { _, set in set(\.box, to: Boxed.Box(width: 2)) }
    }

    @Test func fetchOneLimitsTheQueryToOneRow() throws {
        let db = try Connection(.memory)
        try db.create(Author.table)
        try db.insertAll((1...20).map { (id: Int64) in Author(id: id, name: "n\(id)") })
        var ran: [String] = []
        let token = try db.addTraceHook { if $0.kind == .started { ran.append($0.sql) } }
        defer { token.remove() }
        #expect(try db.fetchOne(Author.order { $0.name.descending })?.name == "n9")
        #expect(try db.fetchOne(Author.order { $0.id }.limit(5, offset: 2))?.id == 3)
        #expect(try db.fetchOne(Author.all.limit(0)) == nil)
        #expect(try db.fetchOne(Author.all.offset(19))?.id == 20)
        #expect(throws: DatabaseError.self) { try db.fetchOne(Author.all.limit(-1)) }
        let endings = ran.map { $0.components(separatedBy: "LIMIT").last ?? "" }
        #expect(endings == [" 1", " 1 OFFSET ?", " ?", " 1 OFFSET ?"])
    }
}
