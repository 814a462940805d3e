import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// Tables that store the same keys in different forms: each way to associated records finds the same records.
@Suite struct AssociationFormTests {
    protocol Form: Sendable { static var uuids: ValueProfile? { get } }
    enum Bytes: Form { static let uuids: ValueProfile? = ValueProfile(uuids: .blob) }
    enum Upper: Form { static let uuids: ValueProfile? = ValueProfile(uuids: .uppercaseText) }
    enum Lower: Form { static let uuids: ValueProfile? = ValueProfile(uuids: .lowercaseText) }
    /// The connection's.
    enum Own: Form { static let uuids: ValueProfile? = nil }

    struct Author<F: Form>: SQLRecord, Hashable {
        var id: UUID
        var name: String
        static var tableName: String { "author" }
        static var columnProfiles: [String: ValueProfile] { F.uuids.map { ["id": $0] } ?? [:] }
    }
    struct Book<F: Form>: SQLRecord, Hashable {
        var id: Int64
        var author: UUID?
        static var tableName: String { "book" }
        static var columnProfiles: [String: ValueProfile] { F.uuids.map { ["author": $0] } ?? [:] }
    }
    struct Prize<F: Form>: SQLRecord, Hashable {
        var author: UUID
        var award: UUID
        static var tableName: String { "prize" }
        static var columnProfiles: [String: ValueProfile] { F.uuids.map { ["author": $0, "award": $0] } ?? [:] }
    }
    struct Award<F: Form>: SQLRecord, Hashable {
        var id: UUID
        static var tableName: String { "award" }
        static var columnProfiles: [String: ValueProfile] { F.uuids.map { ["id": $0] } ?? [:] }
    }

    static let ids = (0..<4).map { UUID(uuidString: "9A00000\($0)-0000-0000-0000-00000000000b")! }

    private func check<F: Form, G: Form>(_ form: F.Type, _ other: G.Type) throws {
        // SQLite compares the stored values, and would refuse references in another form.
        var configuration = DatabaseConfiguration()
        configuration.enforcesForeignKeys = false
        let db = try Connection(.memory, configuration: configuration)
        try db.execute(
            SQLScript("""
                CREATE TABLE author(id PRIMARY KEY, name TEXT);
                CREATE TABLE book(id INTEGER PRIMARY KEY, author REFERENCES author);
                CREATE TABLE award(id PRIMARY KEY);
                CREATE TABLE prize(author REFERENCES author, award REFERENCES award);
                CREATE INDEX book_author ON book(author);
                """))
        let ids = Self.ids
        try db.insertAll(ids.enumerated().map { Author<F>(id: $1, name: "\($0)") })
        try db.insertAll((1...6).map { Book<G>(id: Int64($0), author: $0 == 6 ? nil : ids[$0 % 3]) })
        try db.insertAll(ids.map { Award<F>(id: $0) })
        try db.insertAll([Prize<G>(author: ids[0], award: ids[1]), Prize<G>(author: ids[0], award: ids[2])])
        let expected: [[Int64]] = [[3], [1, 4], [2, 5], []]
        let all = Author<F>.order { $0.name }

        let books = Author<F>.hasMany(Book<G>.self).order { $0.id }
        #expect(try db.fetchAll(all.including(books)).map { $1.map(\.id) } == expected)
        #expect(try db.fetchAll(all.including(books.limit(1))).map { $1.map(\.id) } == expected.map { Array($0.prefix(1)) })
        let named = Author<F>.hasMany(Book<G>.self, by: \.author, to: \.id)
        #expect(try db.fetchAll(all.select { named.of($0).count }) == expected.map(\.count))
        for (author, expected) in zip(try db.fetchAll(all), expected) {
            #expect(try db.fetchAll(named.of(author).order { $0.id }).map(\.id) == expected)
        }
        let authors = Book<G>.belongsTo(Author<F>.self)
        let owners = try db.fetchAll(Book<G>.order { $0.id }.including(authors)).map { $1?.id }
        #expect(owners == [ids[1], ids[2], ids[0], ids[1], ids[2], nil])

        let awards = Author<F>.hasMany(Award<F>.self, through: Prize<G>.self).order { $0.id }
        #expect(try db.fetchAll(all.including(awards)).map(\.1.count) == [2, 0, 0, 0])
        #expect(try db.fetchAll(all.including(awards.limit(1))).map(\.1.count) == [1, 0, 0, 0])

        // A join by the foreign key, and by a condition.
        #expect(try db.fetchAll(all.join(Book<G>.self).order { $1.id }).map(\.1.id) == [3, 1, 4, 2, 5])
        #expect(try db.fetchAll(all.join(Book<G>.self) { $0.id == $1.author }.order { $1.id }).map(\.1.id) == [3, 1, 4, 2, 5])
        #expect(try db.fetchAll(Book<G>.join(Author<F>.self).order { $0.id }).map(\.1.id) == [ids[1], ids[2], ids[0], ids[1], ids[2]])
    }

    @Test func associatedRecordsAreFoundAcrossFormsOfKeys() throws {
        func with<F: Form>(_ form: F.Type) throws {
            try check(form, Bytes.self)
            try check(form, Upper.self)
            try check(form, Lower.self)
            try check(form, Own.self)
        }
        try with(Bytes.self)
        try with(Upper.self)
        try with(Lower.self)
        try with(Own.self)
    }

    private struct Item: SQLRecord {
        var id: Int64
        var cost: Decimal
        static let table = SQLTable(of: Item.self) {
            $0.id.primaryKey()
            $0.cost
        }
    }

    /// Text has no order of numbers: no way to order by it gives a different order.
    @Test func textDecimalsHaveNoOrderByColumnNumber() throws {
        var configuration = DatabaseConfiguration()
        for isText in [true, false] {
            configuration.valueProfile = ValueProfile(decimals: isText ? .text : .number)
            let db = try Connection(.memory, configuration: configuration)
            try db.create(Item.table)
            try db.insertAll([0, 14, 7, 21].enumerated().map { Item(id: Int64($0), cost: $1) })
            let costs = Item.all.select { $0.cost }
            for query in [costs, costs.union(costs), costs.unionAll(costs), costs.intersect(costs), costs.except(Item.filter { $0.id == 9 }.select { $0.cost })] {
                let ordered = query.order(byColumn: 1, descending: true)
                if isText { #expect(throws: DatabaseError.self) { try db.fetchAll(ordered) } } else {
                    #expect(try db.fetchOne(ordered) == 21)
                }
            }
            let pairs = Item.all.select { ($0.id, $0.cost) }.order(byColumn: 1)
            #expect(try db.fetchAll(pairs).map(\.1) == [0, 14, 7, 21])
            let records = Item.all.selection.order(byColumn: 2)
            if isText { #expect(throws: DatabaseError.self) { try db.fetchAll(records) } } else {
                #expect(try db.fetchAll(records).map(\.cost) == [0, 7, 14, 21])
            }
        }
    }
}
