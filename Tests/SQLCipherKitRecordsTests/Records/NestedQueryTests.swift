import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Queries inside of the closures of other queries, of the same table above all.
@Suite struct NestedQueryTests {
    typealias Folder = JoinTests.Folder

    let folder: TemporaryFolder
    let db: Connection

    /// root > a > b > c, and root > d.
    init() throws {
        let made = try EncryptedDatabase()
        (folder, db) = (made.folder, made.db)
        try db.create(Folder.table)
        try db.insertAll([
            Folder(name: "root"), Folder(name: "a", parent: 1), Folder(name: "b", parent: 2), Folder(name: "c", parent: 3),
            Folder(name: "d", parent: 1),
        ])
    }

    private func names(_ query: SQLQuery<Folder>) throws -> [String] { try db.fetchAll(query.order { $0.id }).map(\.name) }

    @Test func subqueryOfSameTableRefersToItsOwnRows() throws {
        let parents = Folder.filter { folder in Folder.filter { $0.parent == folder.id }.exists }
        #expect(try names(parents) == ["root", "a", "b"] && db.count(parents) == 3 && db.exists(parents))
        let all = Folder.filter { folder in Folder.all.filter { $0.parent == folder.id }.exists }
        #expect(try names(all) == ["root", "a", "b"])
        // A query that was made outside, and continued inside.
        let made = Folder.all
        #expect(try names(Folder.filter { folder in made.filter { $0.parent == folder.id }.exists }) == ["root", "a", "b"])
        let grandparents = Folder.filter { folder in
            Folder.filter { child in child.parent == folder.id && Folder.filter { $0.parent == child.id }.exists }.exists
        }
        #expect(try names(grandparents) == ["root", "a"])
        let listed = Folder.filter { folder in folder.id.in(Folder.filter { $0.parent == folder.id }.select { $0.parent }) }
        #expect(try names(listed) == ["root", "a", "b"])
        let named = Folder.filter { folder in Folder.all.aliased("child").filter { $0.parent == folder.id }.exists }
        #expect(try names(named) == ["root", "a", "b"])
    }

    @Test func subqueriesWorkInEveryClause() throws {
        let joined = Folder.filter { folder in
            Folder.join(Folder.self) { child, grandchild in grandchild.parent == child.id && child.parent == folder.id }.exists
        }
        #expect(try names(joined) == ["root", "a"])
        let ordered = Folder.all.order { folder in
            Folder.filter { $0.parent == folder.id }.exists.descending
            folder.id
        }
        #expect(try db.fetchAll(ordered).map(\.name) == ["root", "a", "b", "c", "d"])
        let selected = Folder.all.order { $0.id }.select { folder in
            (folder.name, Folder.filter { $0.parent == folder.id }.exists)
        }
        #expect(try db.fetchAll(selected).map(\.1) == [true, true, true, false, false])
        let changed = try db.updateAll(Folder.all) { folder, set in
            set(\.name, to: SQLExpression("iif(\(Folder.filter { $0.parent == folder.id }.exists), 'full', 'empty')"))
        }
        #expect(try changed == 5 && names(Folder.filter { $0.name == "full" }).count == 3)
        #expect(try db.deleteAll(Folder.filter { folder in !Folder.filter { $0.parent == folder.id }.exists }) == 2)
    }

    /// The outer query's conditions have names in them that would mean the outer table's rows now, or the other way round.
    @Test func extendingOuterFilteredQueryInSubqueryThrows() throws {
        let made = Folder.filter { $0.name != "c" }
        let query = Folder.filter { folder in made.filter { $0.parent == folder.id }.exists }
        let error = #expect(throws: DatabaseError.self) { try db.count(query) }
        #expect(error?.reason == .misuse && error?.message.contains("named") == true)
        // As a whole it may stand there: it refers to nothing of the outer query.
        #expect(try db.count(Folder.filter { _ in made.exists }) == 5)
        let other = Folder.all.aliased("other").filter { $0.name != "c" }
        #expect(try db.count(Folder.filter { folder in other.filter { $0.parent == folder.id }.exists }) == 2)
    }

    @Test func emptySelectionIsRefused() throws {
        let nothing = Folder.all.select { _ in }
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(nothing) }
        #expect(error?.reason == .misuse && error?.message.contains("select") == true)
        #expect(throws: DatabaseError.self) { try db.count(nothing) }
        #expect(throws: DatabaseError.self) {
            try db.fetchAll(Folder.filter { _ in SQLPredicate("0") }.select { folder in let _ = folder.name })
        }
    }

    @Test func fetchOneFlattensOptionalValue() throws {
        let largest: Int64? = try db.fetchOne(Folder.all.select { $0.id.max() })
        let none: Int64? = try db.fetchOne(Folder.filter { $0.name == "z" }.select { $0.id.max() })
        let parent = try db.fetchOne(Folder.filter { $0.name == "a" }.select { $0.parent }), flat: Int64? = parent
        #expect(largest == 5 && none == nil && flat == 1)
        #expect(try db.fetchOne(Folder.filter { $0.name == "root" }.select { $0.parent }) == nil)
    }
}
