import Foundation
import SQLCipherKit
import SQLCipherKitSync
import StoreSupport
import Testing
import TestSupport

/// Copies notice lost and wrong objects in a store, and give each other all rows.
@Suite struct ChangeStoreHealingTests {
    private let memory = MemoryStore()
    private let store: ChangeStore

    init() throws { store = ChangeStore(memory, key: try .raw([UInt8](repeating: 7, count: 32))) }

    private func peer(_ name: String, day: Int = 0) throws -> SharedChangeLog {
        let queue = try DatabaseQueue(.memory, key: try .raw([UInt8](repeating: 1, count: 32)))
        try queue.write { try $0.execute("CREATE TABLE note(id TEXT PRIMARY KEY, title)") }
        return at(day, try SharedChangeLog(queue, tables: ["note"], localPeer: name))
    }

    private func at(_ day: Int, _ log: SharedChangeLog) -> SharedChangeLog {
        var log = log
        log.now = { Date(timeIntervalSince1970: 1_700_000_000 + Double(day) * 86_400) }
        return log
    }

    private func set(_ log: SharedChangeLog, _ id: String, _ title: String) throws {
        try log.write { db in try db.execute("INSERT OR REPLACE INTO note VALUES (\(id), \(title))") }
    }

    private func rows(_ log: SharedChangeLog) throws -> [String] {
        try log.database.read { db in try db.fetchAll(String.self, "SELECT id || '=' || title FROM note ORDER BY id") }
    }

    private var names: [String] { memory.objects.keys.sorted() }

    private func chains() -> Set<String> { Set(memory.objects.keys.filter { !$0.hasSuffix("head") }.map { String($0.split(separator: "/")[1]) }) }

    /// Synchronizes a copy for the first time.
    /// - Returns: its chain.
    private func begin(_ log: SharedChangeLog) async throws -> String {
        let before = chains()
        try await log.synchronize(with: store)
        return try #require(chains().subtracting(before).first)
    }

    private func remove(_ chain: String) { memory.restore(memory.objects.filter { !$0.key.contains("/\(chain)/") }) }

    /// The entries of a removed chain are needed for later entries of others.
    @Test(arguments: [false, true]) func copyJoiningAfterChainRemovalConverges(isOwnerBack: Bool) async throws {
        let h = try peer("h"), a = try peer("a"), b = try peer("b")
        try set(h, "h", "1")
        let chain = try await begin(h)
        for log in [a, b] {
            try await log.synchronize(with: store)
            try set(log, log.localPeer, "1")
            try await log.synchronize(with: store)
        }
        remove(chain)
        let d = try peer("d")
        let first = try await d.synchronize(with: store)
        #expect(try !first.isComplete && rows(d) == [])
        // One peer that has the entries is enough.
        try await (isOwnerBack ? h : b).synchronize(with: store)
        let second = try await d.synchronize(with: store)
        #expect(try rows(d) == ["a=1", "b=1", "h=1"] && second.isComplete)
        // The question is answered once.
        for log in [d, a, b] { try await log.synchronize(with: store) }
        let before = names
        for log in [a, b, d, a, b] { try await log.synchronize(with: store) }
        #expect(names == before)
        try set(d, "d", "1")
        for log in [d, a, b] { try await log.synchronize(with: store) }
        for log in [a, b] { #expect(try rows(log) == rows(d)) }
    }

    /// Neither copy can take the other copy's entries, nor later entries.
    @Test func copiesWaitingForEachOtherConverge() async throws {
        var chains: [String] = [], all: [SharedChangeLog] = []
        for (first, second) in [("g", "x"), ("h", "y")] {
            let gone = try peer(first), log = try peer(second), others = memory.objects
            memory.restore(others.filter { $0.key.hasSuffix("head") })
            try set(gone, first, "1")
            chains.append(try await begin(gone))
            try await log.synchronize(with: store)
            try set(log, second, "1")
            try await log.synchronize(with: store)
            memory.restore(memory.objects.merging(others) { $1 })
            all.append(log)
        }
        for chain in chains { remove(chain) }
        for _ in 0..<3 { for log in all { try await log.synchronize(with: store) } }
        for log in all { #expect(try rows(log) == ["g=1", "h=1", "x=1", "y=1"]) }
        let last = try await all[0].synchronize(with: store)
        #expect(last.isComplete)
    }

    /// A copy whose name others know from a chain that is gone does not begin it again with other entries.
    @Test func resetCopyWithoutItsChainConverges() async throws {
        let h = try peer("h"), a = try peer("a")
        try set(h, "h", "1")
        let chain = try await begin(h)
        try await a.synchronize(with: store)
        try set(a, "a", "1")
        try await a.synchronize(with: store)
        remove(chain)
        let again = try peer("h")
        try set(again, "new", "1")
        await #expect { try await again.synchronize(with: store) } throws: { ($0 as? DatabaseError)?.reason == .copyRestored }
        try await again.withLog { try $0.resolveRestore(.takingOthers) }
        for _ in 0..<3 { for log in [again, a] { try await log.synchronize(with: store) } }
        for log in [again, a] { #expect(try rows(log) == ["a=1", "h=1", "new=1"]) }
    }

    /// A restored copy's own former changes follow changes of a chain that is gone: until it can take them, it stores nothing in
    /// their place.
    @Test(arguments: [ChangeLog.RestoreChoice.takingOthers, .keepingThisState])
    func restoredCopyWaitsForWhatItsOwnChangesFollow(_ choice: ChangeLog.RestoreChoice) async throws {
        let a = try peer("a"), b = try peer("b"), n = try peer("n")
        try set(b, "b", "1")
        for log in [b, a] { try await log.synchronize(with: store) }
        let backup = try restored(b)
        try set(n, "n", "1")
        let chain = try await begin(n)
        try await b.synchronize(with: store)
        try set(b, "b", "2")
        for log in [b, a] { try await log.synchronize(with: store) }
        remove(chain)
        let again = try open(backup, "b")
        try set(again, "new", "1")
        try await again.synchronize(with: store, restored: choice)
        try set(again, "last", "1")
        for _ in 0..<2 {
            let outcome = try await again.synchronize(with: store)
            #expect(outcome.sent == 0 && !outcome.isComplete)
        }
        for _ in 0..<2 { for log in [a, again] { try await log.synchronize(with: store) } }
        let kept = choice == .keepingThisState ? "1" : "2"
        for log in [a, again] { #expect(try rows(log) == ["b=\(kept)", "last=1", "n=1", "new=1"], "\(log.localPeer)") }
    }

    /// The copy can take none of the changes that it stored with the newer schema: until it is migrated, it stores nothing in its
    /// place.
    @Test(arguments: [ChangeLog.RestoreChoice.takingOthers, .keepingThisState])
    func restoredCopyWithOlderSchemaWaitsForItsMigration(_ choice: ChangeLog.RestoreChoice) async throws {
        let a = try peer("a")
        try set(a, "a", "1")
        try await a.synchronize(with: store)
        let backup = try restored(a)
        try await a.write { db in
            try db.execute("ALTER TABLE note ADD COLUMN stars")
            try db.execute("INSERT INTO note VALUES ('new', '1', 5)")
            try db.execute("UPDATE note SET title = '2' WHERE id = 'a'")
        }
        try await a.synchronize(with: store)
        let objects = memory.objects
        let again = try open(backup, "a")
        for _ in 0..<2 {
            await #expect { try await again.synchronize(with: store, restored: choice) } throws: {
                ($0 as? DatabaseError)?.code == .schema
            }
            #expect(memory.objects == objects)
        }
        try await again.database.write { try $0.execute("ALTER TABLE note ADD COLUMN stars") }
        try await again.synchronize(with: store, restored: choice)
        let other = try peer("other")
        try await other.database.write { try $0.execute("ALTER TABLE note ADD COLUMN stars") }
        try await other.synchronize(with: store)
        for log in [again, other] {
            #expect(try rows(log) == ["a=\(choice == .takingOthers ? 2 : 1)", "new=1"], "\(log.localPeer)")
        }
    }

    /// A chain that begins again follows another chain, which is read after it.
    @Test func chainThatBeginsAgainWaitsForOthers() async throws {
        let c = try peer("c"), logs = [try peer("p"), try peer("q")]
        var chains: [String] = []
        for log in logs {
            try set(log, log.localPeer, "1")
            chains.append(try await begin(log))
        }
        try set(c, "c", "1")
        try await c.synchronize(with: store)
        let (first, second) = chains[0] < chains[1] ? (0, 1) : (1, 0)
        remove(chains[first])
        try set(logs[second], "second", "1")
        try await logs[second].synchronize(with: store)
        for number in 1...2 {
            try set(logs[first], "first", "\(number)")
            try await logs[first].synchronize(with: store)
        }
        try await c.synchronize(with: store)
        for _ in 1...3 { for log in logs + [c] { try await log.synchronize(with: store) } }
        for log in logs + [c] { #expect(try rows(log) == ["c=1", "first=2", "p=1", "q=1", "second=1"], "\(log.localPeer)") }
    }

    /// A copy of a queue's database, as a backup restores it.
    private func restored(_ log: SharedChangeLog) throws -> DatabaseQueue {
        let copy = try DatabaseQueue(.memory, key: try .raw([UInt8](repeating: 1, count: 32)))
        try log.database.writeWithoutTransaction { db in try copy.writeWithoutTransaction { try db.main.backup(to: $0.main) } }
        return copy
    }

    private func open(_ database: DatabaseWriter, _ name: String) throws -> SharedChangeLog {
        at(0, try SharedChangeLog(database, tables: ["note"], localPeer: name))
    }

    private func renamed(_ log: SharedChangeLog, _ name: String) async throws -> SharedChangeLog {
        try await log.withLog { log in
            let former = log.localPeer
            #expect(throws: DatabaseError.self) { try log.rename(to: "no name") }
            #expect(throws: DatabaseError.self) { try log.rename(to: former) }
            #expect(throws: DatabaseError.self) { try log.connection.transaction { _ in try log.rename(to: name) } }
            #expect(log.localPeer == former)
            try log.rename(to: name)
            #expect(log.localPeer == name)
        }
        #expect(throws: DatabaseError.self) { try open(log.database, log.localPeer) }
        return try open(log.database, name)
    }

    /// Nothing can give back the changes that others know of it. Under another name, the copy continues.
    @Test(arguments: [false, true]) func restoredCopyWithoutItsChainConverges(isBackupKnown: Bool) async throws {
        let h = try peer("h"), a = try peer("a")
        try set(h, "h", "1")
        let chain = try await begin(h)
        try await a.synchronize(with: store)
        if isBackupKnown { for log in [a, h] { try await log.synchronize(with: store) } }
        let backup = try restored(h)
        try set(h, "h", "2")
        try set(h, "lost", "1")
        for log in [h, a] { try await log.synchronize(with: store) }
        try set(a, "a", "1")
        try await a.synchronize(with: store)
        remove(chain)
        var again = try open(backup, "h")
        try set(again, "new", "1")
        for log in [again, a, again, a] {
            do { try await log.synchronize(with: store) } catch let error as DatabaseError {
                let isAsking = error.reason == .copyRestored
                #expect(isAsking || error.reason == .misuse && error.message.contains("rename(to:)"), "\(error)")
                if isAsking { try await log.withLog { try $0.resolveRestore(.takingOthers) } }
            }
        }
        again = try await renamed(again, "h2")
        for _ in 0..<4 { for log in [again, a] { _ = try? await log.synchronize(with: store) } }
        let d = try peer("d")
        for _ in 0..<2 { for log in [d, again, a] { _ = try? await log.synchronize(with: store) } }
        for log in [again, d] { #expect(try rows(log) == rows(a)) }
        #expect(try rows(a) == ["a=1", "h=2", "lost=1", "new=1"])
    }

    /// The changes that it once stored are nowhere, and others have seen that there was something.
    @Test func copyWithLostChangesContinuesUnderNewName() async throws {
        let h = try peer("h"), a = try peer("a")
        try set(h, "h", "1")
        let chain = try await begin(h)
        try await a.synchronize(with: store)
        try set(a, "a", "1")
        try await a.synchronize(with: store)
        // The copies that have had it are gone: only later changes are left.
        remove(chain)
        var again = try peer("h")
        try set(again, "new", "1")
        let first = try await again.synchronize(with: store, restored: .takingOthers)
        #expect(first.sent == 0 && !first.isComplete)
        again = try await renamed(again, "h2")
        // The copy asks for missing changes, and answers its own request under its former name, with all rows.
        for _ in 0..<2 { try await again.synchronize(with: store) }
        let d = try peer("d")
        try await d.synchronize(with: store)
        #expect(try rows(d) == ["new=1"])
    }

    /// Its own log no longer has the entries, as it has heard of no other copy for longer than it waits.
    @Test func renamedCopyLogsItsPrunedChangesAgain() async throws {
        var a = try peer("a"), b = try peer("b")
        try set(b, "b", "1")
        for log in [b, a] { try await log.synchronize(with: store) }
        a = at(400, a)
        try set(a, "a", "1")
        #expect(try await a.withLog { try $0.prune(gracePeriod: .seconds(86_400)) } > 0)
        (a, b) = (at(400, try await renamed(a, "a2")), at(400, b))
        for log in [a, b, a] { try await log.synchronize(with: store) }
        for log in [a, b] { #expect(try rows(log) == ["a=1", "b=1"], "\(log.localPeer)") }
        // Another copy takes all rows.
        let c = at(400, try peer("c"))
        memory.restore(memory.objects.filter { $0.key.hasSuffix("head") })
        for log in [a, c] { try await log.synchronize(with: store) }
        #expect(try rows(c) == ["a=1", "b=1"])
    }

    /// Changes rows as a fault would: without their times, and without the log.
    private func spoil(_ log: SharedChangeLog, _ sql: SQL) async throws {
        try await log.database.write { db in
            try db.execute(sql)
            try db.execute("DELETE FROM changelog_outside_note")
        }
    }

    private static let faults: [SQL] = [
        "UPDATE note SET title = '0' WHERE id = '1'", "UPDATE note SET title = '9' WHERE id = '1'", "DELETE FROM note WHERE id = '1'",
        "INSERT INTO note VALUES ('7', 'x')", "UPDATE note SET title = id || 'x' WHERE id > '1'",
    ]

    /// All rows of a copy have some errors, and only copies that lack its entries take them.
    @Test(arguments: faults.indices) func wrongWholeStateIsRepaired(_ index: Int) async throws {
        let h = try peer("h"), a = try peer("a"), b = try peer("b")
        for id in ["1", "2", "3"] { try set(h, id, "5") }
        let chain = try await begin(h)
        for log in [a, b] { try await log.synchronize(with: store) }
        // A peer with the key stores other rows, and another peer joins. Then it is found out.
        try await spoil(h, Self.faults[index])
        try await h.database.write { try $0.execute("INSERT OR REPLACE INTO changelog_state VALUES ('lacks', 1)") }
        try await h.synchronize(with: store)
        let objects = memory.objects.filter { $0.key.contains("/\(chain)/") || $0.key.hasSuffix("head") }
        let d = try peer("d"), before = memory.objects
        memory.restore(objects)
        try await d.synchronize(with: store)
        memory.restore(before.merging(memory.objects) { $1 }.filter { !$0.key.contains("/\(chain)/") })
        #expect(try rows(d) == rows(h) && rows(d) != rows(a))
        for day in 1...3 { for log in [a, b, d] { try await at(day, log).synchronize(with: store) } }
        for log in [a, b] { #expect(try rows(log) == rows(d), "\(index)") }
        // Then there is no more to do.
        let last = names
        for day in 4...6 { for log in [a, b, d] { try await at(day, log).synchronize(with: store) } }
        #expect(names == last)
    }

    /// A fault of the disk, or of a program, is found within a day after the next change.
    @Test(arguments: faults.indices) func corruptCopyIsRepaired(_ index: Int) async throws {
        let a = try peer("a"), b = try peer("b"), c = try peer("c")
        for id in ["1", "2", "3"] { try set(a, id, "5") }
        for log in [a, b, c, a] { try await log.synchronize(with: store) }
        try await spoil(b, Self.faults[index])
        #expect(try rows(b) != rows(a))
        try set(a, "new", "1")
        for day in 1...4 { for log in [a, b, c] { try await at(day, log).synchronize(with: store) } }
        for log in [b, c] { #expect(try rows(log) == rows(a), "\(index)") }
        #expect(try rows(a).contains("new=1"))
    }
}
