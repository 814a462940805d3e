import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// The result of a write, and the fate of a row that is there already, against the same computed in Swift.
@Suite struct WrittenRecordTests {
    struct Page: SQLRecord, Hashable {
        var id: Int64?
        var title: String
        var stars: Int
        var deleted: Int?
        var shout: String?

        static let table = SQLTable(of: Page.self) {
            $0.id.primaryKey()
            $0.title
            $0.stars
            $0.deleted
            $0.shout.generated(as: "upper(title)")
            SQLIndex("page_title", on: [$0.title], isUnique: true, where: "deleted IS NULL")
        }
    }

    /// The same by position.
    struct QuickPage: SQLPositionalRecord, Hashable {
        var id: Int64?
        var title: String
        var stars: Int
        var deleted: Int?
        var shout: String?
        static let recordColumns = SQLRecordColumns(
            of: QuickPage.self, ["id": \.id, "title": \.title, "stars": \.stars, "deleted": \.deleted, "shout": \.shout])
        static let table = Page.table
        static let tableName = "page"

        init(_ page: Page) { (id, title, stars, deleted, shout) = (page.id, page.title, page.stars, page.deleted, page.shout) }
        init(columns: inout SQLColumnReader) throws {
            id = try columns.next()
            title = try columns.next()
            stars = try columns.next()
            deleted = try columns.next()
            shout = try columns.next()
        }
        func write(to columns: inout SQLColumnWriter) throws {
            try columns.put(id)
            try columns.put(title)
            try columns.put(stars)
            try columns.put(deleted)
            try columns.put(shout)
        }
        var page: Page { Page(id: id, title: title, stars: stars, deleted: deleted, shout: shout) }
    }

    let made: EncryptedDatabase
    var db: Connection { made.db }

    init() throws {
        made = try EncryptedDatabase()
        try made.db.create(Page.table)
    }

    private func pages() throws -> [Page] { try db.fetchAll(Page.order { $0.id }) }

    @Test func updateAllAndDeleteAllReturnChangedRows() throws {
        try db.insertAll((1...9).map { Page(id: $0, title: "p\($0)", stars: Int($0) % 4) })
        let changed = try db.updateAll(Page.filter { $0.stars > 1 }, returning: Page.self) { page, set in set(\.stars, to: page.stars * 10) }
        #expect(changed.sorted { $0.stars * 100 + Int($0.id!) < $1.stars * 100 + Int($1.id!) }.map(\.stars) == [20, 20, 30, 30])
        #expect(changed.allSatisfy { $0.shout == $0.title.uppercased() })
        let ids = try db.updateAll(Page.order { $0.id.descending }.limit(2), returning: { $0.id }) { _, set in set(\.title, to: "x") ; set(\.deleted, to: 1) }
        #expect(Set(ids) == [8, 9])
        let pairs = try db.updateAll(Page.all.aliased("other").filter { $0.id == 1 }, returning: { ($0.id, $0.stars + 1) }) { _, set in set(\.stars, to: 7) }
        #expect(pairs.map(\.0) == [1] && pairs.map(\.1) == [8])

        let before = try pages()
        let gone = try db.deleteAll(Page.filter { $0.stars == 0 }, returning: Page.self)
        #expect(Set(gone) == Set(before.filter { $0.stars == 0 }) && gone.count == 2)
        #expect(try db.deleteAll(Page.order { $0.id }.limit(1), returning: { $0.title }) == ["p1"])
        let marks = try db.deleteAll(Page.filter { $0.id == 9 }, returning: { ($0.title, $0.deleted) })
        #expect(marks.map(\.1) == [1])
        #expect(try pages().map(\.id) == [2, 3, 5, 6, 7])
        let quick = try db.deleteAll(QuickPage.filter { $0.id < 4 }.order { $0.id }, returning: QuickPage.self)
        #expect(quick.map(\.page.id).sorted { $0! < $1! } == [2, 3])
        #expect(throws: DatabaseError.self) { try db.deleteAll(Page.all.group { $0.id }, returning: Page.self) }
    }

    @Test func insertAllFromQueryCopiesRows() throws {
        try db.insertAll((1...9).map { Page(id: $0, title: "p\($0)", stars: Int($0) % 3) })
        let archive = try db.attach(.memory, as: "archive", key: .plaintext)
        try archive.create(Page.table)
        #expect(try db.insertAll(from: Page.in(db.main).filter { $0.stars == 0 }, in: archive) == 3)
        let more = try db.insertAll(
            from: QuickPage.in(db.main).filter { $0.id < 5 }.order { $0.id }, onConflict: .ignore, in: archive, returning: QuickPage.self)
        #expect(Set(more.map(\.id)) == [1, 2, 4])
        #expect(try db.fetchAll(Page.in(archive).order { $0.id }) == db.fetchAll(Page.in(db.main).filter { $0.id < 5 || $0.stars == 0 }.order { $0.id }))
        #expect(throws: DatabaseError.self) { try db.insertAll(from: Page.in(archive)) }
        // Without a description.
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, stars INT, tags TEXT, twice AS (stars * 2))")
        try db.insert(Note(title: "a", stars: 1))
        try db.execute("CREATE TABLE archive.note(id INTEGER PRIMARY KEY, title TEXT, stars INT, tags TEXT, twice AS (stars * 2))")
        #expect(try db.insertAll(from: Note.in(db.main), in: archive, returning: Note.self).map(\.title) == ["a"])
    }

    @Test func unreadableReturningValueUndoesChange() throws {
        try db.insert(Page(id: 1, title: "a", stars: 1))
        #expect(throws: DatabaseError.self) {
            try db.updateAll(Page.all, returning: { $0.title.typed(Int.self) }) { _, set in set(\.stars, to: 9) }
        }
        #expect(throws: DatabaseError.self) { try db.deleteAll(Page.all, returning: { $0.title.typed(Int.self) }) }
        #expect(try pages().map(\.stars) == [1])
        try db.transaction { db in
            #expect(throws: DatabaseError.self) { try db.deleteAll(Page.all, returning: { $0.title.typed(Int.self) }) }
        }
        #expect(try pages().map(\.stars) == [1])
    }

    @Test func updateReadsRecordBack() throws {
        var page = Page(title: "a", stars: 1)
        try db.insert(&page)
        page.title = "b"
        try db.update(&page)
        #expect(page.shout == "B" && page.id == 1)
        var quick = QuickPage(page)
        quick.title = "c"
        try db.update(&quick)
        #expect(quick.shout == "C")
        var missing = Page(id: 7, title: "x", stars: 0)
        let error = #expect(throws: DatabaseError.self) { try db.update(&missing) }
        #expect(error?.reason == .recordNotFound && missing.shout == nil)
    }

    /// Random insertions over a few titles, with each kind of conflict, beside the same in Swift.
    @Test(arguments: 0..<16 as Range<UInt64>) func randomUpsertsMatchModel(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        var model: [Page] = []
        let byTitle = SQLUpsert<Page>(on: \.title, where: "deleted IS NULL")
        for step in 0..<40 {
            var page = Page(
                title: ["a", "b", "c"].randomElement(using: &random) ?? "", stars: .random(in: 0...9, using: &random),
                deleted: Int.random(in: 0...3, using: &random) == 0 ? 1 : nil)
            let kind = Int.random(in: 0...5, using: &random)
            let conflict = switch kind {
            case 0: byTitle.updating(\.stars)
            case 1: byTitle.updating(\.stars).where { page, new in new.stars > page.stars }
            case 2: byTitle.setting { page, new, set in set(\.stars, to: page.stars + new.stars) }
            case 3: byTitle.ignoring
            case 4: byTitle.setting { _, new, set in set(\.deleted, to: new.stars.typed(Int?.self)) }.updating(\.stars)
            default: byTitle
            }
            let old = model.firstIndex { $0.title == page.title && $0.deleted == nil }
            var isWritten = true
            if let old, page.deleted == nil {
                switch kind {
                case 0: model[old].stars = page.stars
                case 1:
                    isWritten = page.stars > model[old].stars
                    if isWritten { model[old].stars = page.stars }
                case 2: model[old].stars += page.stars
                case 3: isWritten = false
                case 4: (model[old].deleted, model[old].stars) = (page.stars, page.stars)
                default: model[old].stars = page.stars
                }
            } else {
                model.append(Page(id: Int64(model.count + 1), title: page.title, stars: page.stars, deleted: page.deleted, shout: page.title.uppercased()))
            }
            let given = page
            if step % 2 == 0 {
                #expect(try db.upsert(&page, conflict) == isWritten)
            } else {
                var quick = QuickPage(page)
                let quickTitle = SQLUpsert<QuickPage>(on: \.title, where: "deleted IS NULL")
                let same = switch kind {
                case 0: quickTitle.updating(\.stars)
                case 1: quickTitle.updating(\.stars).where { page, new in new.stars > page.stars }
                case 2: quickTitle.setting { page, new, set in set(\.stars, to: page.stars + new.stars) }
                case 3: quickTitle.ignoring
                case 4: quickTitle.setting { _, new, set in set(\.deleted, to: new.stars.typed(Int?.self)) }.updating(\.stars)
                default: quickTitle
                }
                #expect(try db.upsert(&quick, same) == isWritten)
                page = quick.page
            }
            #expect(isWritten ? model.contains(page) : page == given)
            #expect(try pages() == model)
        }
        // Without the index's condition there is no such constraint.
        #expect(throws: DatabaseError.self) { try db.upsert(Page(title: "a", stars: 1), SQLUpsert(on: \.title)) }
        #expect(throws: DatabaseError.self) { try db.upsert(Page(title: "a", stars: 1), SQLUpsert(on: \.title, where: "deleted IS \(1)")) }
        #expect(try db.upsert(Page(id: 1, title: "z\(seed)", stars: 100), SQLUpsert()))
        #expect(try db.fetchOne(Page.self, id: 1)?.stars == 100)
    }

    struct Pair: SQLRecord, Hashable {
        var a: Int
        var b: Int
        static let table = SQLTable(of: Pair.self) {
            $0.a
            $0.b
            SQLConstraint.primaryKey($0.a, $0.b)
        }
    }

    @Test func saveInsertsOrUpdates() throws {
        var page = Page(title: "a", stars: 1)
        try db.save(&page)
        #expect(page.id == 1 && page.shout == "A")
        page.title = "b"
        try db.save(&page)
        #expect(page.shout == "B")
        var other = Page(id: 5, title: "c", stars: 2)
        try db.save(&other)
        #expect(try pages() == [page, other] && other.shout == "C")
        var clash = Page(id: 6, title: "c", stars: 3)
        #expect(throws: DatabaseError.self) { try db.save(&clash) }
        #expect(try pages() == [page, other])

        try db.create(Pair.table)
        var pair = Pair(a: 1, b: 2)
        try db.save(&pair)
        try db.save(&pair)
        #expect(try db.count(Pair.all) == 1)
        #expect(throws: DatabaseError.self) { try db.fetchAll(Pair.self, ids: [1]) }

        // A view, which has no upsert.
        try db.execute("CREATE VIEW shown AS SELECT id, title, stars FROM page")
        try db.execute(
            "CREATE TRIGGER shown_in INSTEAD OF INSERT ON shown BEGIN INSERT INTO page(id, title, stars) VALUES (new.id, new.title, new.stars); END")
        try db.execute("CREATE TRIGGER shown_up INSTEAD OF UPDATE ON shown BEGIN UPDATE page SET stars = new.stars WHERE id = old.id; END")
        var shown = Shown(id: 9, title: "v", stars: 4)
        #expect(throws: DatabaseError.self) { try db.upsert(&shown) }
        try db.save(&shown)
        shown.stars = 6
        try db.save(&shown)
        #expect(try db.fetchOne(Page.self, id: 9)?.stars == 6)
    }

    struct Shown: SQLRecord, Hashable {
        var id: Int64?
        var title: String
        var stars: Int
        static let table = SQLTable(of: Shown.self) {
            $0.id.primaryKey()
            $0.title
            $0.stars
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func fetchAllByIDsKeepsOrder(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        try db.insertAll((1...50).map { Page(id: $0 * 3, title: "p\($0)", stars: 0) })
        let ids = (0..<60).map { _ in Int64.random(in: 1...160, using: &random) }
        var seen: Set<Int64> = []
        let expected = ids.filter { $0 % 3 == 0 && $0 <= 150 && seen.insert($0).inserted }
        #expect(try db.fetchAll(Page.self, ids: ids).map(\.id) == expected)
        #expect(try db.fetchAll(QuickPage.self, ids: ids.map { Optional($0) } + [nil]).map(\.id) == expected)
        #expect(try db.fetchAll(Page.self, ids: [] as [Int]).isEmpty)
        #expect(try db.fetchAll(Page.self, ids: 1...40_000).count == 50)
    }
}
