import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Decimals in SQL give the same results as in Swift.
@Suite struct DecimalTests {
    private func decimal(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

    /// Numbers that differ in their last digits, of all sizes, in no order.
    private func samples() throws -> [Decimal] {
        var state: UInt64 = 17
        func random(_ range: ClosedRange<Int64>) -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return range.lowerBound + Int64(state >> 3) % (range.upperBound - range.lowerBound + 1)
        }
        let fixed = try [
            "9", "10", "100", "-0.5", "0.1", "0.3", "0.30000000000000004", "9007199254740993", "1e20", "19.99",
        ].map(decimal)
        let made = try (0..<300).map { _ in
            try decimal("\(random(-999_999_999_999_999...999_999_999_999_999))e\(random(-17...3))")
        }
        return fixed + made.filter { !fixed.contains($0) }
    }

    @Test(arguments: ["price", "price NUMERIC", "price DECIMAL(10, 2)", "price ANY"])
    func decimalsCompareAndSortAsNumbers(_ column: String) throws {
        let db = try Connection(.memory)
        try db.execute(SQL(raw: "CREATE TABLE item(\(column)) \(column.hasSuffix("ANY") ? "STRICT" : "")"))
        try db.execute("CREATE INDEX item_price ON item(price)")
        let samples = try samples()
        for sample in samples { try db.execute("INSERT INTO item VALUES (\(sample))") }
        #expect(try db.fetchAll(Decimal.self, "SELECT price FROM item ORDER BY price") == samples.sorted())
        #expect(try db.fetchOne(Decimal.self, "SELECT max(price) FROM item") == samples.max())
        #expect(try db.fetchOne(Decimal.self, "SELECT min(price) FROM item") == samples.min())
        for limit in samples.prefix(40) {
            for (name, matches) in [
                ("=", { $0 == limit }), ("<", { $0 < limit }), (">=", { $0 >= limit }), ("<>", { $0 != limit }),
            ] as [(String, (Decimal) -> Bool)] {
                // By the index, and without it.
                for column in ["price", "+price"] {
                    let sql: SQL = "SELECT count(*) FROM item WHERE \(raw: column) \(raw: name) \(limit)"
                    #expect(try db.fetchOne(Int.self, sql) == samples.filter(matches).count, "\(column) \(name) \(limit)")
                }
            }
        }
        // A number that is written in SQL, and one of another Swift type.
        let above = samples.filter { $0 > 10 }.count
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM item WHERE price > 10") == above)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM item WHERE price > \(10.0)") == above)
        let plan: [(Int, Int, Int, String)] = try db.fetchAll("EXPLAIN QUERY PLAN SELECT * FROM item WHERE price > \(samples[0])")
        #expect(plan.contains { $0.3.contains("item_price") })
        #expect(try db.fetchOne(Bool.self, "SELECT sum(price) > \(try decimal("1")) FROM item WHERE price IN (9, 10, 100)") == true)
    }

    struct Item: SQLRecord, Equatable {
        var id: Int64?
        var price: Decimal
        var cents = 0
    }

    @Test func queriesRefuseToOrderTextDecimals() throws {
        var configuration = DatabaseConfiguration()
        let prices = try ["9", "10", "100", "10.5"].map(decimal)
        for strategy in DecimalStrategy.allCases {
            configuration.valueProfile.decimals = strategy
            let db = try Connection(.memory, configuration: configuration)
            try db.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, price, cents INT)")
            try db.insertAll(prices.map { Item(price: $0) })
            #expect(try db.fetchAll(Item.filter { $0.price == prices[1] }).map(\.price) == [10])
            #expect(try db.fetchAll(Item.filter { $0.price.in([9, 100]) }).map(\.price) == [9, 100])
            let queries = [
                Item.filter { $0.price > 9 }, Item.filter { $0.price <= 10 }, Item.filter { $0.price.between(10, and: 11) },
            ]
            if strategy == .number {
                #expect(try queries.map { try db.count($0) } == [3, 2, 2])
            } else {
                for query in queries {
                    #expect(throws: DatabaseError.self) { try db.count(query) }
                }
            }
        }
    }
}
