import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Copies that were restored from an older state, and choose how they go on.
@Suite struct ChangeLogRestoreTests {
    private func peer(_ name: String) throws -> ChangeLog { try ChangeLogPeers.peer(name) }
    private func exchange(_ a: ChangeLog, _ b: ChangeLog) throws { try ChangeLogPeers.exchange(a, b) }
    private func error(_ body: () throws -> Void) -> DatabaseError? { ChangeLogPeers.error(body) }

    private func titles(_ log: ChangeLog) throws -> [String] {
        try log.connection.fetchAll(String.self, "SELECT id || '=' || title FROM note ORDER BY id")
    }

    private func set(_ log: ChangeLog, _ title: String, _ ids: String...) throws {
        try log.write { db in
            for id in ids {
                try db.execute(
                    "INSERT INTO note(id, title) VALUES (\(id), \(title)) ON CONFLICT DO UPDATE SET title = excluded.title")
            }
        }
    }

    private func remove(_ log: ChangeLog, _ id: String) throws {
        try log.write { try $0.execute("DELETE FROM note WHERE id = \(id)") }
    }

    private func backup(_ log: ChangeLog) throws -> Connection {
        let copy = try Connection(.memory, key: .passphrase("x").quick)
        try log.connection.main.backup(to: copy.main)
        return copy
    }

    private func opened(_ db: Connection) throws -> ChangeLog { try ChangeLog(db, tables: ["note", "pair"], localPeer: "a") }

    /// Either this copy's rows win, or its changes after the backup come back.
    @Test(arguments: [ChangeLog.RestoreChoice.keepingThisState, .takingOthers], [false, true])
    func restoredCopyAsksAndGoesOnAsChosen(_ choice: ChangeLog.RestoreChoice, isWhole: Bool) throws {
        let a = try peer("a"), b = try peer("b"), c = try peer("c")
        try set(a, "1", "updated", "deleted", "theirs", "gone", "same")
        try exchange(a, b)
        try exchange(b, c)
        let copy = try backup(a)
        try set(a, "2", "updated", "new")
        try remove(a, "deleted")
        try exchange(a, b)
        try set(b, "3", "theirs", "other", "new")
        try remove(b, "gone")
        let again = try opened(copy)
        try set(again, "4", "since", "same")
        let message = isWhole ? try b.snapshot() : try b.changes(), before = try Contents.of(copy)
        for _ in 0..<2 {
            let found = error { try again.receive(message) }
            #expect(found?.reason == .copyRestored && found?.message.contains("resolveRestore(.takingOthers)") == true)
            #expect(error { _ = try again.changes(since: b.position) }?.reason == .copyRestored)
            #expect(try Contents.of(copy) == before)
        }
        try again.resolveRestore(choice)
        try again.receive(message)
        try exchange(again, b)
        if isWhole { try c.receive(again.snapshot()) } else { try exchange(again, c) }
        let expected =
            choice == .keepingThisState
            ? ["deleted=1", "gone=1", "new=3", "other=3", "same=4", "since=4", "theirs=1", "updated=1"]
            : ["new=3", "other=3", "same=4", "since=4", "theirs=3", "updated=2"]
        for log in [again, b, c] { #expect(try titles(log) == expected, "\(log.localPeer)") }
        try set(c, "5", "last")
        try b.receive(c.changes(since: b.position))
        try again.receive(b.changes(since: again.position))
        for log in [again, b] { #expect(try titles(log) == titles(c)) }
    }

    /// No row is lost by the choice: the rows that this copy had inserted after the backup come back from the others, in several
    /// messages.
    @Test func keptStateReceivesRowsInsertedSince() throws {
        let a = try peer("a"), b = try peer("b")
        try set(a, "1", "kept")
        try exchange(a, b)
        let copy = try backup(a)
        var messages: [ChangeLog.Message] = []
        for number in 0..<4 {
            let last = try b.position
            try set(a, "\(number)", "kept", "n\(number)")
            try remove(a, "again")
            try set(a, "\(number)", "again")
            try exchange(a, b)
            messages.append(try b.changes(since: last))
        }
        try set(b, "b", "theirs")
        messages.append(try b.changes())
        let again = try opened(copy)
        try again.resolveRestore(.keepingThisState)
        for message in messages { try again.receive(message) }
        try exchange(again, b)
        for log in [again, b] { #expect(try titles(log) == ["again=3", "kept=1", "n0=0", "n1=1", "n2=2", "n3=3", "theirs=b"]) }
    }

    /// A copy that begins again has no rows, and deletes none.
    @Test(arguments: [ChangeLog.RestoreChoice.keepingThisState, .takingOthers])
    func emptyRestoredCopyGoesOnAsChosen(_ choice: ChangeLog.RestoreChoice) throws {
        let a = try peer("a"), b = try peer("b")
        try set(a, "1", "mine")
        try exchange(a, b)
        try set(b, "1", "theirs")
        let again = try peer("a")
        #expect(error { try again.receive(b.changes()) }?.reason == .copyRestored)
        try again.resolveRestore(choice)
        try again.receive(b.changes())
        try exchange(again, b)
        for log in [again, b] { #expect(try titles(log) == ["mine=1", "theirs=1"]) }
    }

    /// The choice is for this restore, and not for a later restore.
    @Test func restoreChoiceEndsWithNextMessage() throws {
        let a = try peer("a"), b = try peer("b"), c = try peer("c")
        try set(a, "1", "n")
        for log in [b, c] { try exchange(a, log) }
        let copy = try backup(a)
        try set(a, "2", "n")
        try exchange(a, b)
        try set(a, "3", "n")
        try exchange(a, c)
        let again = try opened(copy)
        try again.resolveRestore(.takingOthers)
        try again.receive(b.changes())
        #expect(try titles(again) == ["n=2"])
        _ = try again.changes()
        #expect(error { try again.receive(c.changes()) }?.reason == .copyRestored)
        #expect(try titles(again) == ["n=2"])
        try again.resolveRestore(.takingOthers)
        try again.receive(c.changes())
        #expect(try titles(again) == ["n=3"])
    }

    /// A backup of a copy that has chosen is another older state, and asks again. A rollback leaves no choice either.
    @Test func restoreChoiceIsNotInBackup() throws {
        struct Cut: Error {}
        let a = try peer("a"), b = try peer("b")
        try set(a, "1", "n")
        try exchange(a, b)
        let copy = try backup(a)
        try set(a, "2", "n")
        try exchange(a, b)
        let again = try opened(copy)
        #expect(throws: Cut.self) {
            try again.connection.transaction { _ in
                try again.resolveRestore(.keepingThisState)
                throw Cut()
            }
        }
        #expect(error { try again.receive(b.changes()) }?.reason == .copyRestored)
        try again.resolveRestore(.keepingThisState)
        let second = try backup(again)
        // Each call may open the log of its connection.
        try opened(copy).receive(b.changes())
        try exchange(again, b)
        try set(b, "3", "n")
        try exchange(again, b)
        let last = try opened(second)
        #expect(error { try last.receive(b.changes()) }?.reason == .copyRestored)
        #expect(try titles(last) == ["n=1"])
        try last.resolveRestore(.takingOthers)
        try last.receive(b.changes())
        #expect(try titles(b) == ["n=3"])
    }
}
