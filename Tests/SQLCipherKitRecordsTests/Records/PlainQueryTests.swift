import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

private struct Crate: SQLPositionalRecord, Equatable {
    var id: Int64
    var weight: Int64?
    var name: String
    var price: Double?

    static let recordColumns = SQLRecordColumns(
        of: Crate.self, ["id": \.id, "weight_kg": \.weight, "name": \.name, "price": \.price])
    static let table = SQLTable(of: Crate.self) {
        $0.id.primaryKey()
        $0.weight
        $0.name
        $0.price
    }

    init(id: Int64, weight: Int64?, name: String, price: Double?) {
        (self.id, self.weight, self.name, self.price) = (id, weight, name, price)
    }

    init(columns: inout SQLColumnReader) throws {
        id = try columns.next()
        weight = try columns.next()
        name = try columns.next()
        price = try columns.next()
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(id)
        try columns.put(weight)
        try columns.put(name)
        try columns.put(price)
    }
}

/// Other columns of the same table, in another order.
private struct CrateName: SQLPositionalRecord, Equatable {
    var name: String
    var id: Int64

    static let tableName = "crate"
    static let recordColumns = SQLRecordColumns(of: CrateName.self, ["name": \.name, "id": \.id])

    init(columns: inout SQLColumnReader) throws {
        name = try columns.next()
        id = try columns.next()
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(name)
        try columns.put(id)
    }
}

/// Conditions of columns and values, whose statements a connection knows again.
@Suite struct PlainQueryTests {
    private let db: Connection
    private let crates: [Crate]

    init() throws {
        db = try Connection(.memory)
        try db.create(Crate.table)
        var random = SeededGenerator(state: 3)
        crates = (1...40).map { id in
            Crate(
                id: id, weight: [nil, 0, 1, 2].randomElement(using: &random) ?? nil,
                name: ["", "a", "b'?", "é"].randomElement(using: &random) ?? "",
                price: [nil, -0.5, 0, 2.5].randomElement(using: &random) ?? nil)
        }
        try db.insertAll(crates)
    }

    private struct Term {
        let condition: @Sendable (SQLColumns<Crate>) -> SQLPredicate
        let holds: (Crate) -> Bool
        let text: String
    }

    private func term(_ random: inout SeededGenerator) -> Term {
        let weights: [Int64?] = [nil, 0, 1, 2], names: [String] = ["", "a", "b'?", "é"], prices: [Double] = [-0.5, 0, 2.5]
        let weight: Int64? = weights[Int.random(in: 0..<4, using: &random)]
        let name: String = names[Int.random(in: 0..<4, using: &random)]
        let price: Double = prices[Int.random(in: 0..<3, using: &random)]
        let price2: Double? = Bool.random(using: &random) ? price : nil
        let id: Int64 = Int64.random(in: 0...41, using: &random)
        switch Int.random(in: 0..<11, using: &random) {
        case 0:
            return Term(
                condition: { $0.weight == weight }, holds: { $0.weight == weight },
                text: #""crate"."weight_kg" "# + (weight == nil ? "IS NULL" : "= ?"))
        case 1:
            return Term(
                condition: { $0.weight != weight }, holds: { $0.weight != weight },
                text: #""crate"."weight_kg" "# + (weight == nil ? "IS NOT NULL" : "IS NOT ?"))
        case 2: return Term(condition: { $0.name == name }, holds: { $0.name == name }, text: #""crate"."name" = ?"#)
        case 3: return Term(condition: { $0.name != name }, holds: { $0.name != name }, text: #""crate"."name" <> ?"#)
        case 4: return Term(condition: { $0.id < id }, holds: { $0.id < id }, text: #""crate"."id" < ?"#)
        case 5: return Term(condition: { $0.id <= id }, holds: { $0.id <= id }, text: #""crate"."id" <= ?"#)
        case 6: return Term(condition: { $0.id > id }, holds: { $0.id > id }, text: #""crate"."id" > ?"#)
        case 7: return Term(condition: { $0.id >= id }, holds: { $0.id >= id }, text: #""crate"."id" >= ?"#)
        case 8:
            return Term(
                condition: { $0.price > price }, holds: { $0.price.map { $0 > price } ?? false }, text: #""crate"."price" > ?"#)
        case 9: return Term(condition: { $0.price.isNull }, holds: { $0.price == nil }, text: #""crate"."price" IS NULL"#)
        default:
            return Term(
                condition: { $0.price == price2 }, holds: { $0.price == price2 },
                text: #""crate"."price" "# + (price2 == nil ? "IS NULL" : "= ?"))
        }
    }

    /// As in Swift, with the text that the parts make, for the first and for each later query of a shape.
    @Test func randomFilterQueriesMatchSwift() throws {
        var random = SeededGenerator(state: 11)
        let columns = #"SELECT "crate"."id", "crate"."weight_kg", "crate"."name", "crate"."price" FROM "crate""#
        for _ in 0..<600 {
            let terms = (0..<Int.random(in: 1...6, using: &random)).map { _ in term(&random) }
            var query = Crate.all
            if Bool.random(using: &random) {
                // One condition, put together from the left or from the right.
                let isLeft = Bool.random(using: &random)
                query = Crate.filter { crate in
                    let all = terms.map { $0.condition(crate) }
                    if isLeft { return all.dropFirst().reduce(all[0]) { $0 && $1 } }
                    return all.dropLast().reversed().reduce(all[all.count - 1]) { $1 && $0 }
                }
            } else {
                for term in terms { query = query.filter(term.condition) }
            }
            let expected = crates.filter { crate in terms.allSatisfy { $0.holds(crate) } }
            // Whichever comes first makes the shape's statement, and the other must not take it.
            if Bool.random(using: &random) { #expect(try db.fetchOne(query) == expected.first) }
            #expect(try db.fetchAll(query) == expected)
            #expect(try db.fetchOne(query) == expected.first)
            #expect(try db.count(query) == expected.count)
            #expect(try db.sql(of: query).text == columns + " WHERE " + terms.map(\.text).joined(separator: " AND "))
        }
    }

    @Test func queryShapeIsCompiledOnce() throws {
        for id in 1...3 as ClosedRange<Int64> { #expect(try db.fetchOne(Crate.filter { $0.id == id })?.id == id) }
        let misses = db.settings.statementCache.misses
        for id in 1...40 as ClosedRange<Int64> {
            #expect(try db.fetchOne(Crate.filter { $0.id == id }) == crates[Int(id) - 1])
            #expect(try db.fetchAll(Crate.filter { $0.id == id && $0.name != "x" }) == [crates[Int(id) - 1]])
            #expect(try db.fetchOne(CrateName.filter { $0.id == id })?.name == crates[Int(id) - 1].name)
        }
        #expect(db.settings.statementCache.misses == misses + 2)
        // While the statement is in use, another statement.
        let cursor = try db.cursor(Crate.filter { $0.id == 1 })
        #expect(try cursor.next()?.id == 1 && db.fetchOne(Crate.filter { $0.id == 2 })?.id == 2)
    }

    /// The same condition in queries that are not of one table by its own name.
    @Test func conditionRefersToItsQueryTable() throws {
        let archive = try db.attach(.memory, as: "archive", key: .plaintext)
        try archive.create(Crate.table)
        try db.insert(Crate(id: 7, weight: nil, name: "old", price: nil), in: archive)
        #expect(try db.fetchAll(Crate.in(archive).filter { $0.id == 7 }).map(\.name) == ["old"])
        #expect(try db.fetchAll(Crate.filter { $0.id == 7 }).map(\.name) == [crates[6].name])

        let first = Crate.order { $0.id }.limit(5).subquery.filter { $0.id >= 4 }
        #expect(try db.fetchAll(first).map(\.id) == [4, 5])
        #expect(try db.fetchOne(first)?.id == 4)
        let some = Crate.filter { $0.id == 3 }.union(Crate.filter { $0.id == 9 })
        #expect(try db.fetchAll(some).map(\.id).sorted() == [3, 9])
        #expect(try db.fetchAll(some.filter { $0.id == 9 }).map(\.id) == [9])

        let same = Crate.filter { crate in Crate.filter { $0.name == crate.name && $0.id < crate.id && $0.weight == 1 }.exists }
        let expected = crates.filter { crate in crates.contains { $0.name == crate.name && $0.id < crate.id && $0.weight == 1 } }
        #expect(try db.fetchAll(same) == expected)
        #expect(try db.fetchAll(Crate.filter { $0.id == 2 || $0.id == 5 && $0.name == crates[4].name }).map(\.id) == [2, 5])
        #expect(try db.fetchAll(Crate.filter { !($0.id > 2 && $0.id != 40) }).map(\.id) == [1, 2, 40])
        let pairs = try db.fetchAll(Crate.join(CrateName.self) { $0.id == $1.id && $0.id == 3 && $1.name == crates[2].name })
        #expect(pairs.map(\.1.id) == [3])
        #expect(try db.deleteAll(Crate.filter { $0.id > 38 && $0.id < 100 }) == 2)
    }
}
