import Faults
import Foundation
import SQLCipherKit

extension FaultScenario {
    private static let a = File("a.db", "one", 60), b = File("b.db", "two", 30)

    /// Reads that change nothing.
    private static func reading(_ name: String, _ run: @escaping @Sendable (String) throws -> Void) -> FaultScenario {
        FaultScenario(name: name, before: [a, b], after: [a, b], run: run)
    }

    private static func changing(
        _ name: String, _ before: [File], _ after: [File], beside: Set<String> = [],
            _ run: @escaping @Sendable (String) throws -> Void
    ) -> FaultScenario {
        FaultScenario(name: name, before: before, after: after, beside: beside, run: run)
    }

    private static let inPlace = changing("rekey", [a], [File("a.db", "raw", 60)]) { folder in
        try using(folder + "/a.db") { try $0.changeKey(to: key("raw")) }
    }

    /// With a write-ahead log, which both ways of changing a key leave for a while.
    private static let logs: [FaultScenario] = [Schema.KeyChangeMode.inPlace, .newFile].map { mode in
        let name = mode == .inPlace ? "rekey with a log" : "new file with a log"
        let (before, after) = ([File("l.db", "one", 60, hasLog: true)], [File("l.db", "raw", 60, hasLog: true)])
        return changing(name, before, after, beside: ["l.db-wal", "l.db-shm"]) { folder in
            try using(folder + "/l.db") { try $0.changeKey(to: key("raw"), mode: mode) }
        }
    }

    private static let copies: [FaultScenario] = [
        changing("backup", [a], [a, File("c.db", "one", 60)]) { folder in
            try using(folder + "/a.db") { try $0.main.backup(toFileAt: folder + "/c.db") }
        },
        changing("compact backup", [a], [a, File("c.db", "two", 60)]) { folder in
            try using(folder + "/a.db") { try $0.main.backup(toFileAt: folder + "/c.db", key: key("two"), options: .compact) }
        },
        changing("restore", [a, b], [File("a.db", "one", 30), b]) { folder in
            try using(folder + "/a.db") { try $0.main.restore(fromFileAt: folder + "/b.db", key: key("two")) }
        },
        changing("salvage", [a], [a, File("c.db", "one", 60)]) { folder in
            try DatabaseConverter.salvage(fileAt: folder + "/a.db", key: key("one"), to: folder + "/c.db")
        },
    ]

    private static let conversions: [FaultScenario] = [
        changing("convert", [a], [File("a.db", "wide", 60)]) {
            try DatabaseConverter.convert(fileAt: $0 + "/a.db", from: key("one"), to: key("wide"))
        },
        changing("encrypt", [File("a.db", "-", 60)], [a]) { try DatabaseConverter.encrypt(fileAt: $0 + "/a.db", key: key("one")) },
        changing("decrypt", [a], [File("a.db", "-", 60)]) { try DatabaseConverter.decrypt(fileAt: $0 + "/a.db", key: key("one")) },
        changing("migrate", [File("a.db", "old version", 60)], [File("a.db", "migrated", 60)]) {
            try DatabaseConverter.migrate(fileAt: $0 + "/a.db", key: key("migrated"))
        },
        changing("new file", [a], [File("a.db", "raw", 60)]) { folder in
            try using(folder + "/a.db") { try $0.changeKey(to: key("raw"), mode: .newFile) }
        },
    ]

    private static let readings: [FaultScenario] = [
        reading("open") { folder in try using(folder + "/a.db") { _ = try $0.fetchOne(Int.self, "SELECT sum(length(x)) FROM t") } },
        reading("verify") { folder in
            try using(folder + "/a.db") { db in
                let problems = try db.main.verify().problems
                guard problems.isEmpty else { throw DatabaseError(code: .corrupt, message: "verify told of \(problems)") }
            }
        },
        reading("attach") { folder in
            try using(folder + "/a.db") { db in
                try db.withAttached(.file(folder + "/b.db"), as: "b", key: key("two")) { other in
                    _ = try other.connection.fetchAll(String.self, "SELECT x FROM b.t")
                }
            }
        },
        reading("search") { folder in
            try using(folder + "/a.db") { db in
                let hits = try db.fullText("search").search(FTS5Query.phrase("word"), limit: 5).hits
                guard hits.count == 5 else { throw Untrue("\(hits.count) hits") }
            }
        },
        reading("identify") { folder in
            guard case .encrypted = try DatabaseConverter.identify(fileAt: folder + "/a.db", key: key("one")) else {
                throw DatabaseError(code: .corrupt, message: "identified as something else")
            }
        },
        reading("vacuum") { folder in try using(folder + "/a.db") { try $0.main.vacuum() } },
        reading("erase") { folder in try using(folder + "/a.db") { try $0.main.eraseDeletedContent() } },
        reading("residue") { folder in try using(folder + "/a.db") { _ = try $0.main.findRemnants(of: ["word"]) } },
        reading("pool") { folder in
            let pool = try DatabasePool(.file(folder + "/b.db"), key: key("two"))
            defer { try? pool.close() }
            for round in 1...3 {
                do { _ = try pool.read { try $0.fetchOne(Int.self, "SELECT sum(length(x)) FROM t") } } catch {
                    Fault.none()
                    guard round < 3 else { throw error }
                }
            }
        },
    ]

    static let all: [FaultScenario] = readings + copies + conversions + logs + slots + rooms + [
        inPlace,
        changing("write", [a], [File("a.db", "one", 90)]) { folder in
            try using(folder + "/a.db") { db in
                try db.transaction { db -> Void in
                    for number in 0..<30 {
                        try db.execute("INSERT INTO t(x) VALUES (\(String(repeating: "w", count: 200) + "\(number)"))")
                    }
                }
            }
        },
    ]
}
