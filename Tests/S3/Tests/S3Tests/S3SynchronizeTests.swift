import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync
import Synchronization
import Testing

/// Copies that synchronize over a bucket.
@Suite(.enabled(if: TestServer.endpoint != nil), .timeLimit(.minutes(60))) struct S3SynchronizeTests {
    private func key(_ byte: UInt8) throws -> DatabaseKey { try .raw([UInt8](repeating: byte, count: 32)) }

    private func peer(_ name: String) throws -> SharedChangeLog {
        let queue = try DatabaseQueue(.memory, key: key(1))
        try queue.write { try $0.execute("CREATE TABLE note(id TEXT PRIMARY KEY, title, body)") }
        return try SharedChangeLog(queue, tables: ["note"], localPeer: name)
    }

    private func write(_ log: SharedChangeLog, _ sql: SQL) throws { try log.write { try $0.execute(sql) } }

    private func rows(_ log: SharedChangeLog) throws -> [String] {
        try log.database.read { db in try db.fetchAll(String.self, "SELECT concat_ws(' ', id, title, body) FROM note ORDER BY id") }
    }

    @Test func copiesConvergeOverS3() async throws {
        let bucket = try TestServer.store("sync-1/"), store = ChangeStore(bucket, key: try key(2))
        let a = try peer("a"), b = try peer("b")
        try write(a, "INSERT INTO note VALUES ('1', 'a', 'a'), ('2', 'a', 'a')")
        #expect(try await a.synchronize(with: store).sent == 1)
        #expect(try await b.synchronize(with: store).received.received == 1)
        // Both change a row without knowledge of each other, and one deletes another row.
        try write(a, "UPDATE note SET title = 'A' WHERE id = '1'")
        try write(b, "UPDATE note SET body = 'B' WHERE id = '1'")
        try write(b, "DELETE FROM note WHERE id = '2'")
        for log in [a, b, a] { #expect(try await log.synchronize(with: store).isComplete) }
        for log in [a, b] { #expect(try rows(log) == ["1 A B"]) }
        let late = try peer("late")
        try await late.synchronize(with: store)
        #expect(try rows(late) == ["1 A B"])
        // The bucket has neither names nor rows, and another key opens nothing.
        for object in try await bucket.list(prefix: "") {
            let bytes = try await bucket.get(object.name)?.bytes ?? []
            #expect(!Data(bytes).contains(Data("note".utf8)) && !Data(bytes).contains(Data("title".utf8)), "\(object.name)")
        }
        let other = ChangeStore(bucket, key: try key(3))
        await #expect { try await a.synchronize(with: other) } throws: { ($0 as? DatabaseError)?.reason == .replicaDamaged }
    }

    /// A number that two copies with one name store at the same time is stored by one of them: the other copy continues after it.
    @Test func copiesWithSamePeerNameLoseNothing() async throws {
        let store = ChangeStore(try TestServer.store("sync-2/"), key: try key(2))
        let copies = [try peer("a"), try peer("a"), try peer("b")]
        for (number, copy) in copies.enumerated() {
            try write(copy, "INSERT INTO note VALUES (\("\(number)"), 'x', 'x')")
        }
        for _ in 0..<6 {
            await withTaskGroup(of: Void.self) { tasks in
                for copy in copies { tasks.addTask { _ = try? await copy.synchronize(with: store) } }
            }
        }
        for _ in 0..<3 { for copy in copies { try await copy.synchronize(with: store) } }
        for copy in copies { #expect(try rows(copy) == ["0 x x", "1 x x", "2 x x"]) }
    }

    /// One request in three fails: the connection ends, or its answer is lost. Each sent object is there once.
    @Test func syncConvergesDespiteFailingRequests() async throws {
        let number = Mutex(0)
        let proxy = try FaultyProxy { _ in
            let count = number.withLock { number in
                number += 1
                return number
            }
            return count % 3 > 0 ? .pass : count % 2 == 0 ? .cut : .loseAnswer
        }
        defer { proxy.stop() }
        var line = try proxy.store("sync-3/")
        line.attempts = 1
        let bad = ChangeStore(line, key: try key(2)), good = ChangeStore(try TestServer.store("sync-3/"), key: try key(2))
        let a = try peer("a"), b = try peer("b")
        var failures = 0
        for round in 0..<8 {
            try write(a, "INSERT INTO note VALUES (\("a\(round)"), 'x', 'x')")
            try write(b, "INSERT INTO note VALUES (\("b\(round)"), 'x', 'x')")
            for log in [a, b] {
                do { try await log.synchronize(with: bad) } catch let error as DatabaseError where error.reason == .storeUnavailable { failures += 1 }
            }
        }
        #expect(failures > 3)
        for log in [a, b, a] { try await log.synchronize(with: good) }
        #expect(try rows(a).count == 16 && rows(a) == rows(b))
        let late = try peer("late")
        try await late.synchronize(with: good)
        #expect(try rows(late) == rows(a))
    }
}
