import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

@Suite struct StatisticsTests {
    private func make() throws -> Connection {
        let db = try Connection(.memory, key: .passphrase("k").quick)
        try db.execute(SQLScript("""
            CREATE TABLE t(a, b, c); CREATE INDEX t_ab ON t(a, b); CREATE TABLE bare(x);
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) INSERT INTO t SELECT i % 10, i % 100, i FROM n;
            INSERT INTO bare SELECT a FROM t LIMIT 77;
            """))
        return db
    }

    @Test func analyzeWritesStatisticsAndSamples() throws {
        let db = try make()
        #expect(try db.main.statistics() == [] && db.main.samples() == [])
        try db.main.analyze()
        let statistics = try db.main.statistics()
        #expect(statistics.map(\.table) == ["bare", "t"] && statistics.map(\.index) == [nil, "t_ab"])
        #expect(statistics[0].rows == 77 && statistics[1].rows == 1000 && statistics[1].rowsPerPrefix == [100, 10])
        let samples = try db.main.samples()
        #expect(samples.count > 5 && samples.allSatisfy { $0.table == "t" && $0.index == "t_ab" && $0.equal.prefix(2) == [100, 10] })
        #expect(samples.map { $0.less.first ?? -1 } == samples.map { ($0.distinctLess.first ?? 0) * 100 })
        #expect(samples.allSatisfy { !$0.record.isEmpty })
        try db.execute("DELETE FROM t WHERE a > 4")
        try db.main.analyze("bare")
        #expect(try db.main.statistics().map(\.rows) == [77, 1000])
        try db.main.analyze("t_ab", limit: 100)
        #expect(try db.main.statistics()[1].rows < 1000)
        #expect(try db.main.pragma("analysis_limit", as: Int.self) == 0)
        for (name, limit) in [("nothing", 5), ("t", 0)] {
            let error = #expect(throws: DatabaseError.self) { try db.main.analyze(name, limit: limit) }
            #expect(error?.reason == .invalidArgument)
        }
    }

    @Test func optimizeAnalyzesTablesThatNeedIt() throws {
        let db = try make()
        #expect(try db.main.optimize(examiningAll: true).contains { $0.contains("\"t\"") })
        #expect(try db.main.statistics().contains { $0.index == "t_ab" && $0.rows == 1000 })
        #expect(try db.main.optimize(examiningAll: true) == [])
        try db.attach(.memory, as: "other", key: .plaintext)
        try db.execute(SQLScript("CREATE TABLE other.u(x); CREATE INDEX other.u_x ON u(x); INSERT INTO u SELECT c FROM t"))
        #expect(try db.schema("other").optimize(examiningAll: true).count == 1)
        #expect(try db.schema("other").statistics().map(\.index) == ["u_x"])
    }
}
