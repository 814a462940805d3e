import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Queries as the tables of other queries, against the same computed in Swift from random rows.
@Suite struct CommonTableTests {
    struct Folder: SQLRecord, Hashable {
        static let columnNaming = ColumnNaming.snakeCase
        static let columnProfiles: [String: ValueProfile] = ["changed": .room]
        var id: Int64
        var parentID: Int64?
        var size: Int
        var changed: Date
    }

    /// Without a description, with one, and by position.
    struct Total: SQLRecord, Hashable {
        static let columnNaming = ColumnNaming.snakeCase
        var folderID: Int64?
        var size: Int
    }

    struct Level: SQLRecord, Hashable {
        static let table = SQLTable(of: Level.self) {
            $0.folder.named("in folder")
            $0.depth
        }
        enum CodingKeys: String, CodingKey { case folder = "in folder", depth }
        var folder: Int64
        var depth: Int
    }

    struct Change: SQLPositionalRecord, Hashable {
        static let tableName = "change log"
        static let columnProfiles: [String: ValueProfile] = ["day": .coreData]
        static let recordColumns = SQLRecordColumns(of: Change.self, ["day": \.day, "folder": \.folder])
        var day: Date
        var folder: Int64

        init(day: Date, folder: Int64) { (self.day, self.folder) = (day, folder) }

        init(columns: inout SQLColumnReader) throws { (day, folder) = (try columns.next(), try columns.next()) }

        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(day)
            try columns.put(folder)
        }
    }

    private let folder: TemporaryFolder
    private let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        try db.execute("CREATE TABLE folder(id INTEGER PRIMARY KEY, parent_id INTEGER, size INTEGER, changed INTEGER)")
    }

    /// Folders without circles: each lies in one with a smaller number.
    private func fill(_ seed: UInt64) throws -> [Folder] {
        var random = SeededGenerator(state: seed)
        try db.deleteAll(Folder.all)
        let folders = (1...20 as ClosedRange<Int64>).map { id in
            Folder(
                id: id, parentID: id > 1 && Int.random(in: 0..<4, using: &random) > 0 ? .random(in: 1..<id, using: &random) : nil,
                size: .random(in: 0...6, using: &random),
                changed: Date(timeIntervalSince1970: Double(Int.random(in: 0..<5, using: &random)) * 86_400))
        }
        try db.insertAll(folders)
        return folders
    }

    private var totals: SQLSelection<(Int64?, Int)> { Folder.all.group { $0.parentID }.select { ($0.parentID, $0.size.sum() ?? 0) } }

    private var levels: SQLSelection<(Int64, Int)> {
        Folder.filter { $0.parentID == nil }.select { ($0.id, SQLExpression<Int>("0")) }
            .unionAll(Folder.join(Level.self) { $0.parentID == $1.folder }.select { ($0.id, $1.depth + 1) })
    }

    @Test(arguments: 0..<6 as Range<UInt64>) func commonTableQueriesMatchModel(seed: UInt64) throws {
        let folders = try fill(seed)
        var sums: [Int64?: Int] = [:]
        for folder in folders { sums[folder.parentID, default: 0] += folder.size }
        #expect(try Set(db.fetchAll(Total.with(Total.self, as: totals))) == Set(sums.map { Total(folderID: $0, size: $1) }))
        let query = Folder.with(Total.self, as: totals).join(Total.self) { $0.id == $1.folderID && $1.size > $0.size }.order { a, _ in a.id }
        let expected = folders.filter { sums[$0.id].map { [size = $0.size] in $0 > size } == true }
        #expect(try db.fetchAll(query).map(\.0) == expected && db.fetchAll(query).map(\.1.size) == expected.map { sums[$0.id] })
        #expect(try db.count(query) == expected.count && db.exists(query) == !expected.isEmpty)
        // In a closure, of a query for values, grouped and limited.
        let inside = Folder.with(Total.self, as: totals).filter { folder in Total.filter { $0.folderID == folder.id && $0.size > 5 }.exists }
        let large = folders.filter { (sums[$0.id] ?? 0) > 5 }
        #expect(try db.fetchAll(inside.order { $0.id }) == large && db.fetchOne(inside.select { $0.size.sum() ?? 0 }) == large.reduce(0) { $0 + $1.size })
        #expect(try db.count(inside.limit(2)) == min(2, large.count) && db.count(inside.group { $0.parentID }) == Set(large.map(\.parentID)).count)
        // As part of others.
        let ids = inside.select { $0.id }
        #expect(try Set(db.fetchAll(inside.union(inside).subquery.filter { $0.id > 3 })) == Set(large.filter { $0.id > 3 }))
        #expect(try db.count(Folder.all.except(inside)) == folders.count - large.count)
        #expect(try db.count(Folder.filter { $0.id.in(ids) }) == large.count)
        let shown = try db.fetchAll(inside.order { $0.id }.including(Folder.hasMany(Folder.self, by: \.parentID, to: \.id)))
        #expect(shown.map(\.0) == large && shown.map(\.1.count) == large.map { folder in folders.count { $0.parentID == folder.id } })
        // Of one record by another, by names.
        #expect(try db.count(Folder.with(Folder.self, as: Folder.filter { $0.size > 3 }.in(db.main))) == folders.count { $0.size > 3 })
        // Calls that change rows.
        let changed = try db.updateAll(inside, returning: Folder.self) { _, set in set(\.size, to: 100) }
        #expect(Set(changed.map(\.id)) == Set(large.map(\.id)))
        #expect(try db.deleteAll(Folder.with(Total.self, as: totals).filter { $0.id.in(Total.all.select { $0.folderID ?? 0 }) }) == sums.keys.count { $0 != nil })
    }

    @Test(arguments: 0..<6 as Range<UInt64>) func recursiveCommonTableMatchesModel(seed: UInt64) throws {
        let folders = try fill(seed)
        var depths: [Int64: Int] = [:]
        for folder in folders { depths[folder.id] = folder.parentID.map { (depths[$0] ?? 0) + 1 } ?? 0 }
        let query = Level.with(Level.self, as: levels)
        #expect(try Set(db.fetchAll(query)) == Set(depths.map { Level(folder: $0, depth: $1) }))
        let deep = Folder.with(Level.self, as: levels).join(Level.self) { $0.id == $1.folder }.filter { $1.depth > 1 }
        #expect(try Set(db.fetchAll(deep).map(\.0.id)) == Set(depths.filter { $1 > 1 }.keys))
        // By SQL, and one after the other.
        let counted = Level.with(Level.self, as: "SELECT 1 AS [in folder], \(seed) AS depth UNION ALL SELECT [in folder] + 1, depth FROM level WHERE [in folder] < 9")
            .with(Total.self, as: Level.all.select { ($0.folder, $0.depth) })
        #expect(try db.fetchAll(counted.order { $0.folder }).map(\.folder) == Array(1...9) && db.fetchAll(counted).allSatisfy { $0.depth == Int(seed) })
        #expect(try db.fetchOne(counted.join(Total.self) { $0.folder == $1.folderID }.select { _, _ in .countAll }) == 9)
        // `recursive` finds the same.
        let below = Folder.filter { $0.parentID == nil }.recursive { folder, found in folder.parentID == found.id }
        #expect(try db.count(below) == folders.count)
    }

    /// Dates arrive in the form of the record that reads them.
    @Test func commonTableConvertsDateForms() throws {
        let folders = try fill(1)
        let changes = Folder.all.select { ($0.changed, $0.id) }
        let query = Change.with(Change.self, as: changes)
        #expect(try Set(db.fetchAll(query)) == Set(folders.map { Change(day: $0.changed, folder: $0.id) }))
        let day = folders[0].changed
        #expect(try db.count(query.filter { $0.day == day }) == folders.count { $0.changed == day })
        #expect(try db.count(Folder.with(Change.self, as: changes).join(Change.self) { $0.changed == $1.day && $0.id == $1.folder }) == folders.count)
    }

    @Test func invalidCommonTableQueryIsRefused() throws {
        _ = try fill(1)
        func message(_ query: some SQLQueryable) -> String? {
            let error = #expect(throws: DatabaseError.self) { try db.count(query) }
            return error?.reason == .misuse ? error?.message : nil
        }
        #expect(message(Level.with(Level.self, as: Folder.all.select { $0.id })) == "the table level has 2 columns, and its query 1 values")
        #expect(message(Level.with(Level.self, as: Folder.join(Folder.self) { $0.id == $1.parentID })) == "a join cannot be the table level: select values first")
        #expect(message(Level.with(Level.self, as: Folder.all)) == "Folder does not store values as Level does: select values first")
        #expect(message(Level.with(Level.self, as: Folder.including(Folder.hasMany(Folder.self, by: \.parentID, to: \.id)))) == "a query with associations cannot be the table level")
        #expect(message(Level.with(Level.self, as: Folder.limit(-1).select { ($0.id, $0.size) })) == nil)
    }
}
