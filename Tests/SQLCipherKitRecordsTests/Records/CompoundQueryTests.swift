import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private struct Folder: SQLRecord, Hashable {
    var id: Int64
    var parent: Int64?
    var name: String
    var size: Int

    static let table = SQLTable(of: Folder.self) {
        $0.id.primaryKey()
        $0.parent
        $0.name
        $0.size
    }
}

/// Compounds, nested queries, recursion and windows, against the same computed in Swift from random rows.
@Suite struct CompoundQueryTests {
    private let folder: TemporaryFolder
    private let db: Connection

    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        try db.create(Folder.table)
    }

    /// Random folders, circles among them.
    private func fill(_ seed: UInt64) throws -> [Folder] {
        var random = SeededGenerator(state: seed)
        try db.deleteAll(Folder.all)
        let folders = (1...30).map { id in
            Folder(
                id: Int64(id), parent: Bool.random(using: &random) ? .random(in: 1...30, using: &random) : nil,
                name: ["a", "b", "c"].randomElement(using: &random) ?? "", size: .random(in: 0...6, using: &random))
        }
        try db.insertAll(folders)
        return folders
    }

    @Test(arguments: 0..<12 as Range<UInt64>) func compoundQueriesMatchModel(seed: UInt64) throws {
        let folders = try fill(seed)
        let (small, named) = (Folder.filter { $0.size < 3 }, Folder.filter { $0.name == "a" })
        let (smallSet, namedSet) = (Set(folders.filter { $0.size < 3 }), Set(folders.filter { $0.name == "a" }))
        #expect(try Set(db.fetchAll(small.union(named))) == smallSet.union(namedSet))
        #expect(try db.count(small.unionAll(named)) == smallSet.count + namedSet.count)
        #expect(try Set(db.fetchAll(small.intersect(named))) == smallSet.intersection(namedSet))
        #expect(try Set(db.fetchAll(small.except(named))) == smallSet.subtracting(namedSet))
        #expect(try db.exists(small.except(small)) == false)

        let sizes = Folder.all.select { $0.size }.union(named.select { $0.size + 10 })
        let expected = Set(folders.map(\.size) + namedSet.map { $0.size + 10 }).sorted()
        #expect(try db.fetchAll(sizes.order(byColumn: 1)) == expected)
        #expect(try db.fetchAll(sizes.order(byColumn: 1, descending: true).limit(2, offset: 1)) == Array(expected.reversed().dropFirst().prefix(2)))
        #expect(try db.count(sizes) == expected.count)
        let pairs = try db.fetchAll(small.select { ($0.name, $0.size) }.intersect(named.select { ($0.name, $0.size) }).order(byColumn: 2))
        #expect(pairs.map(\.1) == Set(smallSet.intersection(namedSet).map(\.size)).sorted() && pairs.allSatisfy { $0.0 == "a" })

        // Each part has its own order and limit.
        let ends = Folder.order { $0.id }.limit(2).unionAll(Folder.order { $0.id.descending }.limit(1))
        #expect(try db.fetchAll(ends).map(\.id) == [1, 2, 30])
        let most = folders.sorted { ($0.size, $0.id) > ($1.size, $1.id) }.prefix(5).filter { $0.name == "b" }
        let nested = Folder.order { $0.size.descending; $0.id.descending }.limit(5).subquery.filter { $0.name == "b" }
        #expect(try Set(db.fetchAll(nested)) == Set(most))
        let joined = nested.join(Folder.self) { $0.parent == $1.id }
        #expect(try db.count(joined) == most.filter { $0.parent != nil }.count)
        #expect(throws: DatabaseError.self) { try db.fetchAll(joined.selection.union(joined)) }
    }

    @Test(arguments: 0..<12 as Range<UInt64>) func recursiveQueryMatchesModel(seed: UInt64) throws {
        let folders = try fill(seed)
        for root in [1, 7, 30] as [Int64] {
            var (reached, next) = (Set<Int64>(), [root])
            while let id = next.popLast() {
                if reached.insert(id).inserted { next += folders.filter { $0.parent == id }.map(\.id) }
            }
            let inside = Folder.filter { $0.id == root }.recursive { folder, found in folder.parent == found.id }
            #expect(try Set(db.fetchAll(inside).map(\.id)) == reached)
            #expect(try db.count(inside.filter { $0.size > 2 }) == folders.filter { reached.contains($0.id) && $0.size > 2 }.count)
            // As part of another query of the same table.
            let parents = try db.fetchAll(Folder.filter { folder in inside.filter { $0.parent == folder.id }.exists }.select { $0.id })
            #expect(Set(parents) == Set(folders.filter { reached.contains($0.id) }.compactMap(\.parent)))
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>) func scalarSubqueriesMatchModel(seed: UInt64) throws {
        let folders = try fill(seed)
        let rows = try db.fetchAll(Folder.order { $0.id }.select { folder in
            (folder.id, Folder.filter { $0.parent == folder.id }.select { $0.size.max() }.scalarSubquery(), Folder.all.select { _ in .countAll }.scalarSubquery() ?? 0)
        })
        for (folder, row) in zip(folders, rows) {
            #expect(row.0 == folder.id && row.1 == folders.filter { $0.parent == folder.id }.map(\.size).max() && row.2 == 30)
        }
        let big = Folder.filter { folder in folder.size > (Folder.all.select { $0.size.average() }.scalarSubquery() ?? 0.0).typed(Int.self) }
        let average = Double(folders.map(\.size).reduce(0, +)) / 30
        #expect(try db.count(big) == folders.filter { Double($0.size) > average }.count)
    }

    @Test(arguments: 0..<12 as Range<UInt64>) func windowFunctionsMatchModel(seed: UInt64) throws {
        let folders = try fill(seed)
        let rows = try db.fetchAll(Folder.order { $0.id }.select { folder in
            let ordered = SQLWindow(partition: folder.name, order: folder.size.ascending, folder.id.ascending)
            let bySize = SQLWindow(partition: folder.name, order: folder.size.ascending)
            let large: SQLExpression<Int> = .countAll.where(folder.size > 2)
            return (
                .rowNumber().over(ordered), .rank().over(bySize), .denseRank().over(bySize), folder.size.sum().over(ordered),
                folder.id.lag().over(ordered), large.over(SQLWindow(partition: folder.name))
            )
        })
        for (folder, row) in zip(folders, rows) {
            let group = folders.filter { $0.name == folder.name }.sorted { ($0.size, $0.id) < ($1.size, $1.id) }
            let place = try #require(group.firstIndex(of: folder))
            #expect(row.0 == place + 1 && row.1 == group.filter { $0.size < folder.size }.count + 1)
            #expect(row.2 == Set(group.map(\.size).filter { $0 < folder.size }).count + 1)
            #expect(row.3 == group[...place].map(\.size).reduce(0, +) && row.4 == (place == 0 ? nil : group[place - 1].id))
            #expect(row.5 == group.filter { $0.size > 2 }.count)
        }
        let names = try db.fetchAll(Folder.all.group { $0.name }.order { $0.name }.select { folder in
            (folder.name, folder.id.groupConcat(separator: "/", orderedBy: folder.id.descending), .countAll.where(folder.parent.isNull))
        })
        for (name, ids, roots) in names {
            let group = folders.filter { $0.name == name }
            #expect(ids == group.map { String($0.id) }.reversed().joined(separator: "/") && roots == group.filter { $0.parent == nil }.count)
        }
    }
}
