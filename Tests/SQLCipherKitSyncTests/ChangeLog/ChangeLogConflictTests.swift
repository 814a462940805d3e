import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import StoreSupport
import Testing
import TestSupport

/// Overwritten values are listed at the copy where the two changes met.
@Suite struct ChangeLogConflictTests {
    private func peer(_ name: String, _ rules: [String: ChangeLog.MergePolicy] = [:]) throws -> ChangeLog {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id TEXT PRIMARY KEY, title, body, tag UNIQUE, CHECK (title IS NOT 'odd' OR body IS NOT 'odd'));
            CREATE TABLE part(id INTEGER PRIMARY KEY, note REFERENCES note ON DELETE CASCADE, x);
            """))
        return try ChangeLog(db, tables: ["note", "part"], localPeer: name, mergePolicies: rules)
    }

    /// Two copies with the same rows, the second of which is later.
    private func peers(_ rules: [String: ChangeLog.MergePolicy] = [:]) throws -> (ChangeLog, ChangeLog) {
        let a = try peer("a", rules), b = try peer("b", rules)
        b.now = { Date(timeIntervalSinceNow: 60) }
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 't', 'b', NULL), ('m', 't', 'b', NULL)") }
        try ChangeLogPeers.exchange(a, b)
        for log in [a, b] { #expect(try list(log) == []) }
        return (a, b)
    }

    private static func shown(_ value: SQLValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .text(let text): text
        default: "other"
        }
    }

    private func list(_ log: ChangeLog) throws -> [String] {
        try ChangeLog.conflicts(in: log.connection).map { conflict in
            func shown(_ values: [String: SQLValue]) -> String {
                values.sorted { $0.key < $1.key }.map { "\($0)=\(Self.shown($1))" }.joined(separator: " ")
            }
            return "\(conflict.table) \(shown(conflict.key)): \(shown(conflict.lost)) by \(conflict.peer ?? "nil")"
        }
    }

    /// The changes of the earlier and the later copy, and the list of each if it receives first.
    private static let cases: [(a: String, b: String, atA: [String], atB: [String])] = [
        ("UPDATE note SET title = 1 WHERE id = 'n'", "UPDATE note SET body = 2 WHERE id = 'n'", [], []),
        ("UPDATE note SET title = 1 WHERE id = 'n'", "UPDATE note SET title = 1 WHERE id = 'n'", [], []),
        (
            "UPDATE note SET title = 1, body = 1 WHERE id = 'n'", "UPDATE note SET title = 2 WHERE id = 'n'",
            ["note id=n: title=1 by b"], ["note id=n: title=1 by b"]
        ),
        (
            "DELETE FROM note WHERE id = 'n'", "UPDATE note SET title = 2 WHERE id = 'n'",
            ["note id=n: title=2 by a"], ["note id=n: body=b tag=NULL title=2 by a"]
        ),
        (
            "INSERT INTO note VALUES ('o', 1, 1, NULL)", "INSERT INTO note VALUES ('o', 2, 1, NULL)",
            ["note id=o: body=1 tag=NULL title=1 by b"], ["note id=o: body=1 tag=NULL title=1 by b"]
        ),
        (
            "INSERT INTO note VALUES ('x', 1, 1, 'u')", "INSERT INTO note VALUES ('y', 2, 2, 'u')",
            ["note id=x: body=1 tag=u title=1 by b"], ["note id=x: body=1 tag=u title=1 by b"]
        ),
        (
            "DELETE FROM note WHERE id = 'n'", "INSERT INTO part VALUES (1, 'n', 5)",
            ["part id=1: note=n x=5 by a"], ["part id=1: note=n x=5 by b"]
        ),
        (
            "UPDATE note SET title = 'odd' WHERE id = 'n'", "UPDATE note SET body = 'odd' WHERE id = 'n'",
            ["note id=n: body=odd by a"], ["note id=n: title=odd by b"]
        ),
    ]

    @Test(arguments: cases.indices, [false, true]) func overwrittenValuesAreListed(_ index: Int, isWhole: Bool) throws {
        let (first, second, atA, atB) = Self.cases[index]
        for isFirst in [true, false] {
            let (a, b) = try peers()
            try a.write { try $0.execute(SQL(raw: first)) }
            try b.write { try $0.execute(SQL(raw: second)) }
            let (to, from) = isFirst ? (a, b) : (b, a)
            try to.receive(isWhole ? from.snapshot() : from.changes(since: to.position))
            var expected = isFirst ? atA : atB
            // A whole state does not say which peer has deleted a row.
            if isWhole, index == 3, !isFirst { expected = expected.map { $0.replacing("by a", with: "by nil") } }
            if isWhole, index == 3, isFirst { expected = expected.map { $0.replacing("title=2 by a", with: "body=b tag=NULL title=2 by nil") } }
            #expect(try list(to) == expected, "\(first); \(second)")
            // The other one receives what was seen.
            try ChangeLogPeers.exchange(a, b)
            #expect(try list(to) == expected && list(from) == [], "\(first); \(second)")
            #expect(try ChangeLogPeers.rows(a) == ChangeLogPeers.rows(b))
        }
    }

    @Test func wholeRowsThatGiveWayAreListed() throws {
        let (a, b) = try peers(["note": .row])
        try a.write { try $0.execute("UPDATE note SET title = 1 WHERE id = 'n'") }
        try b.write { try $0.execute("UPDATE note SET body = 2 WHERE id = 'n'") }
        try a.receive(b.changes(since: a.position))
        #expect(try list(a) == ["note id=n: body=b tag=NULL title=1 by b"])
    }

    /// The list has the last 1,000 conflicts, and seen conflicts are removed by their numbers.
    @Test func conflictListIsBoundedAndCleared() throws {
        let (a, b) = try peers()
        for (log, title) in [(a, "a"), (b, "b")] {
            try log.write { db in
                for number in 0..<1203 { try db.execute("INSERT INTO part VALUES (\(number), NULL, \(title))") }
            }
        }
        let before = Date(timeIntervalSinceNow: -1)
        try a.receive(b.changes(since: a.position))
        let all = try ChangeLog.conflicts(in: a.connection)
        #expect(all.count == 1000 && all.map(\.key) == (203..<1203).map { ["id": .integer($0)] })
        #expect(all.allSatisfy { $0.lost["x"] == "a" && $0.peer == "b" && $0.time >= before && $0.time < Date(timeIntervalSinceNow: 2) })
        #expect(all.map(\.id) == all.map(\.id).sorted() && Set(all.map(\.id)).count == 1000)
        try ChangeLog.clearConflicts(in: a.connection, upTo: all[499].id)
        #expect(try ChangeLog.conflicts(in: a.connection) == Array(all[500...]))
        try ChangeLog.clearConflicts(in: a.connection)
        #expect(try ChangeLog.conflicts(in: a.connection) == [])
        let empty = try Connection(.memory)
        #expect(try ChangeLog.conflicts(in: empty) == [])
        try ChangeLog.clearConflicts(in: empty)
    }

    @Test func damagedConflictsThrow() throws {
        let (a, b) = try peers()
        for (log, title) in [(a, "a"), (b, "b")] { try log.write { try $0.execute("UPDATE note SET title = \(title) WHERE id = 'n'") } }
        try a.connection.execute("INSERT INTO changelog_conflict VALUES (9223372036854775807, NULL, x'00')")
        let before = try Contents.of(a.connection), message = try b.changes(since: a.position)
        #expect(ChangeLogPeers.error { try a.receive(message) }?.code == .corrupt)
        #expect(try Contents.of(a.connection) == before)
        #expect(ChangeLogPeers.error { _ = try ChangeLog.conflicts(in: a.connection) }?.code == .corrupt)
        try ChangeLog.clearConflicts(in: a.connection)
        try a.receive(message)
        #expect(try list(a).count == 1)
    }

    /// Observations see a conflict when a synchronization has met it.
    @Test func conflictsAreObserved() async throws {
        let store = ChangeStore(MemoryStore(), key: try .raw([UInt8](repeating: 7, count: 32)))
        var logs: [SharedChangeLog] = []
        for name in ["a", "b"] {
            let queue = try DatabaseQueue(.memory, key: try .raw([UInt8](repeating: 1, count: 32)))
            try await queue.write { try $0.execute("CREATE TABLE note(id TEXT PRIMARY KEY, title)") }
            logs.append(try await SharedChangeLog(queue, tables: ["note"], localPeer: name))
            try await logs.last?.write { try $0.execute("INSERT OR REPLACE INTO note VALUES ('n', \(name))") }
        }
        let (a, b) = (logs[0], logs[1])
        let task = Task { () async throws -> [ChangeLog.Conflict] in
            for try await conflicts in a.database.observe({ db in try ChangeLog.conflicts(in: db) }) where !conflicts.isEmpty {
                return conflicts
            }
            return []
        }
        for log in [b, a] { try await log.synchronize(with: store) }
        let found = try await task.value
        #expect(found.count == 1 && found[0].table == "note")
        try await a.database.write { db in try ChangeLog.clearConflicts(in: db, upTo: found[0].id) }
        #expect(try await a.database.read { db in try ChangeLog.conflicts(in: db) } == [])
    }
}
