import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// The cost of a change log to a writer, for scripts/bench changes: runs one round in an empty folder, and prints its figures as
/// JSON.
///
/// The arguments are the folder in memory, one on a disk, and a divisor of the number of rows. Each step is made with a log and
/// without one, after each other. The figures are processor times in seconds and sizes in pages; on the disk, times by the clock.
@main struct BenchChanges {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 3, let scale = Int(arguments[2]), scale > 0 else { return print("FOLDER DISK DIVISOR") }
        var figures: [String: [Double]] = [:]
        for kind in Kind.allCases {
            let logged = try Copy(kind, arguments[0], isLogged: true), plain = try Copy(kind, arguments[0], isLogged: false)
            for (name, step) in Self.steps { figures["\(kind) \(name)"] = try [logged, plain].map { try step($0, scale) } }
            let pruned = try [true, false].map { try Copy(kind, arguments[0], isLogged: $0, "pruned") }
            for copy in pruned {
                try copy.insert(20_000 / scale)
                try copy.prune()
            }
            figures["\(kind) pruned"] = try pruned.map { try $0.size() }
        }
        let copies = try [true, false].map { try Copy(.large, arguments[1], isLogged: $0) }
        for copy in copies { try copy.insert(1000) }
        figures["disk commit"] = try copies.map { try $0.commits(max(1, 200 / scale), isByClock: true) }
        print(String(decoding: try JSONEncoder().encode(figures), as: UTF8.self))
    }

    static let steps: [(String, @Sendable (Copy, Int) throws -> Double)] = [
        ("insert", { copy, scale in try time { try copy.insert(20_000 / scale) } }),
        ("size", { copy, _ in try copy.size() }),
        ("update", { copy, _ in try time { try copy.updateEach() } }),
        ("update-all", { copy, _ in try time { try copy.write { try $0.execute("UPDATE note SET title = 'again'") } } }),
        ("delete", { copy, scale in
            try time { try copy.write { try $0.execute("DELETE FROM note WHERE rowid <= \(10_000 / scale)") } }
        }),
        ("commit", { copy, scale in try copy.commits(max(1, 1000 / scale), isByClock: false) }),
    ]

    static func time(_ clock: clockid_t = CLOCK_PROCESS_CPUTIME_ID, _ body: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(clock, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        try body()
        return now() - start
    }

    enum Kind: CaseIterable { case large, small }

    /// A database with a log or without one.
    final class Copy {
        let db: Connection
        private let log: ChangeLog?
        private let kind: Kind
        private var keys: [SQLValue] = []

        init(_ kind: Kind, _ folder: String, isLogged: Bool, _ name: String = "") throws {
            self.kind = kind
            db = try Connection(.file("\(folder)/\(kind) \(isLogged) \(name).db"), key: .raw([UInt8](repeating: 3, count: 32)))
            let key = kind == .large ? "TEXT" : "INTEGER"
            try db.execute("CREATE TABLE note(id \(raw: key) PRIMARY KEY, title TEXT, body TEXT)")
            log = isLogged ? try ChangeLog(db, tables: ["note"], localPeer: "a") : nil
            try log?.add(peer: "b")
        }

        func write(_ body: (Connection) throws -> Void) throws {
            if let log { try log.write(body) } else { try db.transaction { db in try body(db) } }
        }

        /// Rows of 270 bytes with a UUID as their key, or of 20 with a number.
        func insert(_ count: Int) throws {
            keys = (0..<count).map { kind == .large ? .text(UUID().uuidString) : .integer(Int64($0 + 1)) }
            let title = kind == .large ? String(repeating: "title ", count: 6) : "a title", body = String(repeating: "body ", count: 40)
            try write { db in
                let statement = try db.prepare("INSERT INTO note VALUES (?, ?, ?)")
                for key in keys { try statement.execute(binding: key, title, kind == .large ? body : "words") }
            }
        }

        func updateEach() throws {
            try write { db in
                let statement = try db.prepare("UPDATE note SET title = ? WHERE id = ?")
                for key in keys { try statement.execute(binding: "another title", key) }
            }
        }

        /// Commits of one row each.
        func commits(_ count: Int, isByClock: Bool) throws -> Double {
            let keys = keys.suffix(count)
            return try BenchChanges.time(isByClock ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID) {
                for key in keys { try write { try $0.execute("UPDATE note SET title = 'once more' WHERE id = \(key)") } }
            } / Double(keys.count)
        }

        /// When another peer has all entries.
        func prune() throws {
            guard let log else { return try db.main.vacuum() }
            let other = try Connection(.memory)
            try other.execute("CREATE TABLE note(id \(raw: kind == .large ? "TEXT" : "INTEGER") PRIMARY KEY, title TEXT, body TEXT)")
            let copy = try ChangeLog(other, tables: ["note"], localPeer: "b")
            try copy.receive(log.changes())
            try log.receive(copy.changes(since: log.position))
            try log.prune()
            try db.main.vacuum()
        }

        func size() throws -> Double {
            try Double(db.fetchOne(Int.self, "PRAGMA page_count") ?? 0)
        }
    }
}
