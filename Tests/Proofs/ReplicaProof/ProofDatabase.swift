import Foundation
import SQLCipherKit

/// A database whose content follows from the number of its last commit.
struct ProofDatabase {
    static let rows = 40
    let seed: UInt64

    static var key: DatabaseKey { get throws { try .raw([UInt8](repeating: 5, count: 32)) } }

    private func value(_ commit: Int) -> Int {
        var z = seed &+ UInt64(commit) &* 0x9e37_79b9_7f4a_7c15
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        return Int(truncatingIfNeeded: (z ^ (z >> 27)) >> 1)
    }

    /// Makes the commit after the last commit, in the open transaction.
    func commit(_ db: Connection) throws -> Int {
        try db.execute("CREATE TABLE IF NOT EXISTS commits(number INTEGER)")
        try db.execute("CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY, value INTEGER, text TEXT)")
        let next = (try db.fetchOne(Int.self, "SELECT max(number) FROM commits") ?? 0) + 1
        try db.execute("DELETE FROM commits")
        try db.execute("INSERT INTO commits VALUES (\(next))")
        let value = value(next), text = String(repeating: "plain ", count: value % 1500)
        try db.execute("INSERT OR REPLACE INTO item VALUES (\(next % Self.rows), \(value), \(text))")
        return next
    }

    /// The number of the last commit.
    /// - Throws: ``Finding`` if the content is not the commit's content.
    func check(_ db: Connection) throws -> Int {
        guard try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'item'") == 1 else { return 0 }
        let last = try db.fetchOne(Int.self, "SELECT max(number) FROM commits") ?? 0
        let rows: [(Int, Int, Int)] = try db.fetchAll("SELECT id, value, length(text) FROM item")
        guard rows.count == min(last, Self.rows) else { throw Finding("commit \(last) has \(rows.count) rows") }
        for (id, found, length) in rows {
            let commit = last - (last - id + Self.rows) % Self.rows
            guard found == value(commit), length == 6 * (found % 1500) else {
                throw Finding("row \(id) after commit \(last) is not that of commit \(commit)")
            }
        }
        return last
    }
}

struct Finding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
