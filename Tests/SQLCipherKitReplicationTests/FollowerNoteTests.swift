import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Synchronization
import Testing
import TestSupport

/// The note beside a copy has the copy's position. Only the follower of this copy can have written it, and it is the follower's
/// last note.
@Suite struct FollowerNoteTests {
    let folder: TemporaryFolder, store = MemoryStore(), key: DatabaseKey, pool: DatabasePool, oracle = CommitOracle(seed: 71)

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
        pool = try DatabasePool(.file(folder.path("a.db")), key: key)
        try oracle.commit(pool)
    }

    private func commit(_ replica: Replicator, _ count: Int = 3) async throws {
        for _ in 0..<count {
            try oracle.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
    }

    private func note(_ name: String) -> URL { URL(fileURLWithPath: folder.path(name) + "-replica") }

    private func check(_ follower: ReplicaFollower) throws {
        let (commit, isIntact) = try follower.reader.read { db in (try oracle.check(db), try db.main.verify().isIntact) }
        #expect(commit == oracle.commits && isIntact)
    }

    /// Opens the copy, brings it to the newest state, and closes it.
    private func follow(_ name: String) async throws {
        let follower = try await ReplicaFollower(at: folder.path(name), following: store, key: key, every: .seconds(1000))
        try await follower.catchUp()
        try check(follower)
        await follower.stop()
        try await follower.database.close()
    }

    /// - Returns: the path that the error names, if it is that the note is refused.
    private func refusal(_ name: String) async throws -> String? {
        do { try await follow(name) } catch let error as DatabaseError where error.reason == .cannotOpen { return error.path }
        return nil
    }

    @Test func changedOrUnsealedNoteIsRefused() async throws {
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        try await follow("b.db")
        let url = note("b.db"), sealed = try Data(contentsOf: url)
        var notes = stride(from: 0, to: sealed.count, by: 97).map { place in
            var changed = sealed
            changed[place] ^= 1
            return changed
        }
        notes += [Data(), sealed.dropLast(), Data("{}".utf8)]
        // As versions before the first release have written it.
        let none = #"{"term":[0,0,0,0,0,0,0,0],"link":0,"tag":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"#
        notes.append(
            Data(
                #"{"generation":0,"place":{"frames":0,"commits":0,"predecessor":[]},"held":{"sections":[],"place":\#(none),"ancestry":[],"generation":0}}"#
                    .utf8))
        for changed in notes {
            try changed.write(to: url)
            #expect(try await refusal("b.db") == url.path)
        }
        try sealed.write(to: url)
        try await commit(replica)
        try await follow("b.db")
        await replica.stop()
    }

    /// Both copies are of one replica, and so their notes are sealed with one key. One that is ahead would make the other skip
    /// commits.
    @Test func noteOfAnotherCopyIsRefused() async throws {
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        try await follow("b.db")
        // A follower that was restored from the same objects.
        try await follow("c.db")
        let own = try Data(contentsOf: note("b.db"))
        try Data(contentsOf: note("c.db")).write(to: note("b.db"))
        #expect(try await refusal("b.db") == note("b.db").path)
        try await commit(replica)
        try await follow("c.db")
        try await commit(replica)
        await replica.stop()
        try Data(contentsOf: note("c.db")).write(to: note("b.db"))
        #expect(try await refusal("b.db") == note("b.db").path)
        try own.write(to: note("b.db"))
        try await follow("b.db")
    }

    /// Collects each note that is there for a time.
    private final class Collector: Sendable {
        private let notes = Mutex<[Data]>([]), isDone = Atomic(false)

        func collect(_ url: URL) {
            let thread = Thread { [self] in
                while !isDone.load(ordering: .relaxed) {
                    if let note = try? Data(contentsOf: url) {
                        notes.withLock { notes in if notes.last != note { notes.append(note) } }
                    }
                    usleep(20)
                }
            }
            thread.start()
        }

        func end() -> [Data] {
            isDone.store(true, ordering: .relaxed)
            return notes.withLock { $0 }
        }
    }

    /// A note of an earlier moment is refused, or, if it says that the copy is just being changed, the copy gets all of the newest
    /// state. That is also so if a process has ended there, or between restoring the copy and noting how far it is.
    @Test func earlierNoteSkipsNoCommit() async throws {
        let replica = try await Replicator(of: pool, in: store, options: .forTests), collector = Collector()
        collector.collect(note("b.db"))
        for _ in 0..<4 {
            try await commit(replica, 2)
            try await follow("b.db")
        }
        let notes = collector.end()
        var last = try Data(contentsOf: note("b.db")), refused = 0, followed = 0
        for earlier in notes where earlier != last {
            try earlier.write(to: note("b.db"))
            if try await refusal("b.db") != nil {
                refused += 1
                try last.write(to: note("b.db"))
            } else {
                followed += 1
                last = try Data(contentsOf: note("b.db"))
            }
        }
        print("of \(notes.count) notes \(refused) are refused, and with \(followed) the copy has the newest state")
        #expect(refused > 0 && followed > 0)
        await replica.stop()
    }
}
