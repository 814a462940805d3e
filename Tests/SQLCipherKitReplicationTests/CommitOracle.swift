import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// Makes commits at random, and knows the content after each of them.
final class CommitOracle {
    static var key: DatabaseKey { get throws { try .raw([UInt8](repeating: 7, count: 32)) } }
    static let marker = "this must never be seen"

    private var random: SeededGenerator
    private var content: [Int: Int] = [:]
    /// The digest of the content after each commit. The first commit creates the tables.
    private(set) var digests: [Int] = []

    init(seed: UInt64) { random = SeededGenerator(state: seed) }

    var commits: Int { digests.count }

    func commit(_ pool: DatabasePool) throws { try pool.write { db in try commit(db) } }

    /// Makes one commit.
    func commit(_ db: Connection) throws {
        if digests.isEmpty {
            try db.execute("CREATE TABLE commits(number INTEGER)")
            try db.execute("INSERT INTO commits VALUES (1)")
            try db.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, value INTEGER, text TEXT)")
        } else {
            try db.execute("UPDATE commits SET number = \(commits + 1)")
            // Most commits are small, and a few change much.
            let count = Int.random(in: 0..<20, using: &random) == 0 ? 200 : Int.random(in: 1...4, using: &random)
            for _ in 0..<count {
                let id = Int.random(in: 0..<400, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    try db.execute("DELETE FROM item WHERE id = \(id)")
                    content[id] = nil
                } else {
                    let value = Int.random(in: 0..<1 << 40, using: &random)
                    let text = String(repeating: Self.marker, count: Int.random(in: 1..<20, using: &random))
                    try db.execute("INSERT OR REPLACE INTO item VALUES (\(id), \(value), \(text))")
                    content[id] = value
                }
            }
        }
        digests.append(Self.digest(content))
    }

    private static func digest(_ content: [Int: Int]) -> Int {
        content.reduce(content.count) { sum, item in
            let mixed = (item.key &+ 1) &* 0x1234_5678_9abc_def1 ^ item.value &* 0x0fed_cba9_8765_4321
            return sum &+ (mixed ^ mixed >> 29) &* 0x2545_f491_4f6c_dd1d
        }
    }

    /// The number of the commit that a database is at; its content must be this commit's content.
    func check(_ db: Connection) throws -> Int {
        let exists = try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'item'") == 1
        guard exists else { return 0 }
        let number = try db.fetchOne(Int.self, "SELECT number FROM commits") ?? 0
        var content: [Int: Int] = [:]
        let rows: [(Int, Int)] = try db.fetchAll("SELECT id, value FROM item")
        for (id, value) in rows { content[id] = value }
        #expect(number <= commits)
        if number >= 1, number <= commits { #expect(Self.digest(content) == digests[number - 1], "the content of commit \(number)") }
        return number
    }

    func check(fileAt path: String) throws -> Int {
        let db = try Connection(.file(path), key: Self.key)
        defer { db.close() }
        return try check(db)
    }
}

extension Replicator.Options {
    /// Small objects and short times.
    static var forTests: Replicator.Options {
        var options = Replicator.Options()
        options.interval = .milliseconds(20)
        options.objectSize = 1 << 16
        options.checkpointSize = 200_000
        options.fanOut = 4
        return options
    }
}
