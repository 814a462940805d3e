import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// The examples of the article "Associations", in its order.
@Suite struct AssociationsArticleTests {
    struct Folder: SQLRecord, Hashable {
        var id: Int64?
        var name: String
        var parent: Int64?

        static let table = SQLTable(of: Folder.self) {
            $0.id.primaryKey()
            $0.name
            $0.parent.references(Folder.self)
        }
        static let pages = hasMany(Page.self)
        static let up = belongsTo(Folder.self)
        static let folders = hasMany(Folder.self)
    }

    struct Page: SQLRecord, Hashable {
        var id: Int64?
        var folder: Int64?
        var title: String
        var date: Int

        static let table = SQLTable(of: Page.self) {
            $0.id.primaryKey()
            $0.folder.references(Folder.self, onDelete: .cascade)
            $0.title
            $0.date
            SQLIndex("page_folder", on: [$0.folder])
        }
        static let inside = belongsTo(Folder.self)
        static let tags = hasMany(Tag.self, through: PageTag.self)
    }

    struct Tag: SQLRecord, Hashable {
        var name: String

        static let table = SQLTable(of: Tag.self) { $0.name.primaryKey() }
    }

    struct PageTag: SQLRecord {
        var page: Int64
        var tag: String

        static let table = SQLTable(of: PageTag.self) {
            $0.page.references(Page.self, onDelete: .cascade)
            $0.tag.references(Tag.self)
            SQLConstraint.primaryKey($0.page, $0.tag)
        }
    }
}

private typealias Page = AssociationsArticleTests.Page

extension SQLFilterable where Columns == SQLColumns<Page> {
    func recent() -> Self {
        filter { $0.title != "" }.order { $0.date.descending }
    }
}

extension AssociationsArticleTests {
    /// The rows that the article has before it asks.
    private func filled(_ db: Connection) throws {
        for table in [Folder.table, Tag.table, Page.table, PageTag.table, Person.table, Letter.table] { try db.create(table) }
        try db.insertAll([Folder(name: "Work"), Folder(name: "Home", parent: 1)])
        try db.insertAll([
            Page(folder: 1, title: "Plan", date: 3), Page(folder: 1, title: "Report", date: 1),
            Page(folder: 2, title: "Soup", date: 2),
        ])
        try db.insertAll([Tag(name: "new"), Tag(name: "old")])
        try db.insertAll([PageTag(page: 1, tag: "new"), PageTag(page: 1, tag: "old"), PageTag(page: 3, tag: "new")])
        try db.insertAll([Person(name: "Ann"), Person(name: "Bob")])
        try db.insert(Letter(sender: 1, receiver: 2))
    }

    @Test func associationsArticleCodeWorks() async throws {
        let files = try TemporaryFolder()
        let pool = try DatabasePool(.file(files.path("a.db")), key: .passphrase("secret").quick)
        try await pool.write { db in
            try filled(db)
            #expect(try queries(db) == ["Work new old", "Work ", "Home new"])
        }
        var elements = observed(pool, Folder.including(Folder.pages.including(Page.tags))).makeAsyncIterator()
        #expect(try await elements.next()?.count == 2)
    }

    private func queries(_ db: Connection) throws -> [String] {
        let query = Folder.order { $0.name }
            .including(Folder.pages, Folder.up)
        for (folder, pages, up) in try db.fetchAll(query) {
            print(up?.name ?? "", folder.name, pages.map(\.title))
        }
        let recent = Folder.pages
            .filter { $0.title != "" }
            .order { $0.date.descending }
            .limit(3)
        let lists = try db.fetchAll(Folder.including(recent))
        #expect(lists.map { $0.1.map(\.title) } == [["Plan", "Report"], ["Soup"]])
        let newest = try db.fetchAll(Page.all.recent().limit(3))
        let each = try db.fetchAll(
            Folder.including(Folder.pages.recent().limit(3)))
        #expect(newest.map(\.title) == ["Plan", "Soup", "Report"] && each.map { $0.1.count } == [2, 1])
        struct Shelf: Hashable, Sendable {
            var folder: Folder
            var pages: [Page]
        }
        let shelves = try db.fetchAll(
            Folder.including(Folder.pages).map(Shelf.init))
        #expect(Set(shelves).count == 2 && shelves.map(\.pages.count).sorted() == [1, 2])
        var seen: [String] = []
        let tagged = Folder.including(
            Folder.pages.order { $0.date }.including(Page.tags))
        for (folder, pages) in try db.fetchAll(tagged) {
            for (page, tags) in pages {
                print(folder.name, page.title, tags.map(\.name))
            }
        }
        for (folder, pages) in try db.fetchAll(tagged) {
            for (_, tags) in pages.reversed() { seen.append("\(folder.name) \(tags.map(\.name).sorted().joined(separator: " "))") }
        }
        let busy = Folder.filter { Folder.pages.of($0).count > 1 }
            .order { Folder.pages.of($0).count.descending }
        let overview = busy.annotated { folder in
            let pages = Folder.pages.of(folder)
            let last = pages.select { $0.date.max() }
            return (pages.count, last.scalarSubquery())
        }
        for (folder, count, newest) in try db.fetchAll(overview) {
            print(folder.name, count, newest ?? 0)
        }
        for ((folder, count, _), folders) in try db.fetchAll(
            overview.including(Folder.folders))
        {
            print(folder.name, count, folders.count)
        }
        let rows = try db.fetchAll(overview)
        #expect(rows.map(\.0.name) == ["Work"] && rows.map(\.1) == [2] && rows.map(\.2) == [3])
        if let work = try db.fetchOne(Folder.filter { $0.name == "Work" }) {
            let pages = try db.fetchAll(
                Folder.pages.of(work).order { $0.date })
            print(pages.map(\.title))
        }
        let people = try db.fetchAll(Person.order { $0.id }.including(Person.received, Person.friends))
        #expect(people.map { $0.1.count } == [0, 1] && people.map { $0.2.map(\.name) } == [["Bob"], []])
        return seen
    }

    struct Person: SQLRecord, Hashable {
        var id: Int64?
        var name: String

        static let table = SQLTable(of: Person.self) {
            $0.id.primaryKey()
            $0.name
        }
        static let received = hasMany(Letter.self, by: \.receiver)
        static let friends = hasMany(
            Person.self, through: Letter.self,
        from: \.sender, to: \.receiver)
    }

    struct Letter: SQLRecord, Hashable {
        var id: Int64?
        var sender: Int64
        var receiver: Int64

        static let table = SQLTable(of: Letter.self) {
            $0.id.primaryKey()
            $0.sender.references(Person.self)
            $0.receiver.references(Person.self)
        }
    }

    private func observed(
        _ pool: DatabasePool, _ tagged: SQLIncludingQuery<Folder, (Folder, [(Page, [Tag])])>
    ) -> DatabaseObservation<[(Folder, [(Page, [Tag])])]> {
        let changes = pool.observe { db in try db.fetchAll(tagged) }
        return changes
    }
}
