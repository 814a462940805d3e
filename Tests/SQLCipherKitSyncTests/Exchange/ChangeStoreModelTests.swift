import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// Copies that are edited with and without their logs, cut off, restored from backups, and away for longer than the others wait,
/// that join and leave for good, over a store that changes objects, puts in others, loses a copy's chain, and goes back. In the end
/// they have the same rows, and intact indexes.
@Suite struct ChangeStoreModelTests {
    private final class Time: Sendable {
        private let seconds = Mutex<TimeInterval>(1_700_000_000)
        var now: Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
        func pass(_ more: TimeInterval) { seconds.withLock { $0 += more } }
    }

    /// All that is drawn in a run, so that its seed repeats it.
    private final class Numbers: Sendable {
        private let state: Mutex<SeededGenerator>
        init(_ seed: UInt64) { state = Mutex(SeededGenerator(state: ~seed)) }
        func bytes(_ count: Int) -> [UInt8] { state.withLock { random in (0..<count).map { _ in .random(in: 0...255, using: &random) } } }
        var identity: Int64 { state.withLock { random in .random(in: 1...Int64.max, using: &random) } }
    }

    private struct Peer {
        let name: String, path: String
        var log: SharedChangeLog
        var backup: String?

        init(_ name: String, _ path: String, _ time: Time, _ numbers: Numbers) throws {
            (self.name, self.path) = (name, path)
            let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
            let queue = try DatabaseQueue(.file(path), key: key)
            try queue.write { db in
                if try db.main.hasTable("note") { return }
                try db.execute(SQLScript("""
                    CREATE TABLE note(id TEXT PRIMARY KEY COLLATE NOCASE, title, body, folder INTEGER REFERENCES folder ON DELETE SET NULL);
                    CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                    CREATE TABLE part(
                        note TEXT REFERENCES note ON DELETE CASCADE, place INTEGER, x, y, PRIMARY KEY (note, place)) WITHOUT ROWID;
                    """))
                try db.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
            }
            log = try SharedChangeLog(queue, tables: ["note", "folder", "part"], localPeer: name, mergePolicies: ["part": .row])
            log.now = { time.now }
            log.identity = { numbers.identity }
        }

        func rows() throws -> [String] {
            try log.database.read { db in
                try ["note", "folder", "part"].flatMap { table in
                    try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(table)")).map { "\(table) \($0.values.shown)" }.sorted()
                }
            }
        }
    }

    private static func statement(_ random: inout SeededGenerator) -> SQL {
        let id = ["a", "A", "b", "c", "d"].randomElement(using: &random) ?? "a", number = Int.random(in: 1...5, using: &random)
        let word = ["fox", "owl", "elk", "bat", "hen"].randomElement(using: &random) ?? "fox"
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1: return "INSERT INTO note VALUES (\(id), \(word), \(word), (SELECT min(id) FROM folder)) ON CONFLICT DO NOTHING"
        case 2: return "UPDATE note SET title = \(word) WHERE id = \(id)"
        case 3: return "UPDATE note SET body = \(word), folder = (SELECT max(id) FROM folder) WHERE id = \(id)"
        case 4: return "DELETE FROM note WHERE id = \(id)"
        case 5: return "INSERT OR REPLACE INTO folder VALUES (\(number), \(word))"
        case 6: return "DELETE FROM folder WHERE id = \(number)"
        case 7: return "INSERT OR REPLACE INTO part SELECT id, \(number), \(word), \(number) FROM note WHERE id = \(id)"
        default: return "UPDATE part SET x = \(word) WHERE place = \(number)"
        }
    }

    private struct Seen {
        var cuts = 0, restored = 0, kept = 0, taken = 0, renewed = 0, refused = 0, pruned = 0, joined = 0, left = 0, removed = 0
        var renamed = 0
    }

    /// - Returns: the objects in the store at the end.
    @discardableResult
    private static func run(_ seed: UInt64, steps: Int, _ seen: inout Seen) async throws -> [String: [UInt8]] {
        var random = SeededGenerator(state: seed)
        let folder = try TemporaryFolder(), time = Time(), numbers = Numbers(seed), memory = MemoryStore(), line = CutStore(memory)
        var store = ChangeStore(line, key: try .raw([UInt8](repeating: 2, count: 32)))
        store.random = { numbers.bytes($0) }
        store.partSize = 700
        store.largestCount = 6
        store.largestSize = 4000
        var peers: [Peer] = []
        for name in ["a", "b", "c"] { peers.append(try Peer(name, folder.path(name), time, numbers)) }
        // Rows that no statement changes, with the copies that have inserted them, and the rows among them that are in the store.
        var fresh: [String: String] = [:], stored: Set<String> = []
        func synchronize(_ peer: Peer) async throws -> ChangeStore.Outcome {
            while true {
                do {
                    let own = fresh.filter { $0.value == peer.name }.map(\.key)
                    let outcome = try await peer.log.synchronize(with: store)
                    if outcome.isComplete { stored.formUnion(own) }
                    return outcome
                } catch let error as DatabaseError where error.reason == .copyRestored {
                    let keeps = Bool.random(using: &random)
                    if keeps { seen.kept += 1 } else { seen.taken += 1 }
                    try await peer.log.withLog { log in try log.resolveRestore(keeps ? .keepingThisState : .takingOthers) }
                }
            }
        }
        var copy: [String: [UInt8]]?
        // In the order in which they appear, as their names are drawn.
        var chains: [String] = []
        var hasLeft = false, restored: Set<String> = []
        for step in 0..<steps {
            time.pass(1)
            let there = Set(memory.objects.keys.map { $0.split(separator: "/").dropLast().joined(separator: "/") })
            chains += there.subtracting(chains).sorted()
            let place = Int.random(in: 0..<peers.count, using: &random), log = peers[place].log
            switch Int.random(in: 0..<22, using: &random) {
            case 0..<7:
                let statements = (0..<Int.random(in: 1...3, using: &random)).map { _ in statement(&random) }
                let isOutside = Int.random(in: 0..<4, using: &random) == 0, id = step % 3 == 0 ? "fresh\(step)." : nil
                func work(_ db: Connection) throws {
                    for statement in statements { try db.execute(statement) }
                    if let id { try db.execute("INSERT INTO note(id) VALUES (\(id))") }
                }
                if isOutside { try await log.database.write { try work($0) } } else { try await log.write { try work($0) } }
                if let id { fresh[id] = peers[place].name }
            case 7..<14:
                if Int.random(in: 0..<4, using: &random) == 0 {
                    line.cut(at: Int.random(in: 1...8, using: &random), isAfter: Bool.random(using: &random))
                }
                do {
                    let outcome = try await synchronize(peers[place])
                    seen.renewed += outcome.received.renewed
                    seen.pruned += outcome.pruned
                } catch let error as DatabaseError where error.reason == .storeUnavailable {
                    seen.cuts += 1
                    // At times the process is killed then, and another process finds its files.
                    if step % 2 == 0 {
                        let peer = peers[place], path = folder.path("killed \(step)")
                        for suffix in ["", "-journal", "-wal"] where FileManager.default.fileExists(atPath: peer.path + suffix) {
                            try FileManager.default.copyItem(atPath: peer.path + suffix, toPath: path + suffix)
                        }
                        peers[place] = try Peer(peer.name, path, time, numbers)
                        peers[place].backup = peer.backup
                    }
                }
                line.cut()
            case 14:
                let path = folder.path("backup \(step)")
                try await log.database.main.backup(toFileAt: path)
                peers[place].backup = path
            case 15:
                guard let backup = peers[place].backup else { continue }
                try await log.database.close()
                // If the store goes back too, nothing tells that others have changes which it has lost: it takes a new name.
                var name = peers[place].name
                if seed % 2 == 1 {
                    let former = try Peer(name, backup, time, numbers)
                    name = "\(name.prefix(1))\(step)"
                    try await former.log.withLog { [name] log in _ = try log.rename(to: name) }
                    try await former.log.database.close()
                }
                let former = peers[place].name
                peers[place] = try Peer(name, backup, time, numbers)
                seen.restored += 1
                restored.insert(name)
                let there = try peers[place].rows()
                fresh = fresh.filter { id, name in name != former || stored.contains(id) || there.contains { $0.contains(id) } }
            case 16, 17: time.pass(Double.random(in: 0...200, using: &random) * 86_400)
            case 18:
                // An object that is changed, or one that no copy has made.
                let before = memory.objects
                let chain = chains.randomElement(using: &random) ?? "", bit = Int.random(in: 0..<1 << 20, using: &random)
                let names = before.keys.filter { $0.split(separator: "/").dropLast().joined(separator: "/") == chain }
                guard let name = names.sorted(by: { ($0.count, $0) < ($1.count, $1) }).randomElement(using: &random) else { continue }
                if Bool.random(using: &random) {
                    memory.change(name) { $0[bit % $0.count] ^= 1 << UInt8(bit & 7) }
                } else {
                    _ = try await memory.put("\(chain)/\(bit % 40)", [UInt8](repeating: 7, count: 200), if: .always)
                }
                do { _ = try await synchronize(peers[place]) } catch let error as DatabaseError {
                    #expect(error.reason == .replicaDamaged || error.code == .notADatabase, "seed \(seed): \(error)")
                    seen.refused += 1
                }
                // The objects that this copy has stored meanwhile stay.
                for (name, bytes) in before { memory.change(name) { $0 = bytes } }
                for name in memory.objects.keys where before[name] == nil && memory.objects[name] == [UInt8](repeating: 7, count: 200) {
                    try await memory.delete(name)
                }
            case 19:
                if seed % 2 == 0 { continue }
                if let old = copy { memory.restore(old) }
                copy = Bool.random(using: &random) ? memory.objects : nil
            case 20:
                // A chain is lost. Its copy may be restored from a backup meanwhile, which nothing tells then.
                guard seed % 2 == 1, let chain = chains.randomElement(using: &random), chain.contains("/") else { continue }
                memory.restore(memory.objects.filter { !$0.key.hasPrefix(chain + "/") })
                seen.removed += 1
            default:
                if peers.count < 3 || peers.count < 5 && Bool.random(using: &random) {
                    peers.append(try Peer("n\(step)", folder.path("n\(step)"), time, numbers))
                    seen.joined += 1
                } else {
                    // A peer leaves, with the changes that only it had, and with its chain or without.
                    let before = memory.objects
                    let isKnown = (try? await synchronize(peers[place])) != nil, name = peers[place].name
                    let own = memory.objects.keys.sorted().first { before[$0] == nil }.map { $0.split(separator: "/").dropLast() }
                    if isKnown, let own { memory.restore(memory.objects.filter { !$0.key.hasPrefix(own.joined(separator: "/") + "/") }) }
                    peers.remove(at: place)
                    fresh = fresh.filter { $0.value != name }
                    hasLeft = true
                    seen.left += 1
                }
            }
        }
        // Until nothing is left to do. If no copy can return the former changes of a restored copy, that copy continues under a new
        // name.
        for isLast in [false, true] {
            var waiting: [Int] = []
            for round in 0..<16 {
                var isQuiet = true
                waiting = []
                time.pass(round < 12 ? 86_400 : 600)
                for (place, peer) in peers.enumerated() {
                    let outcome = try await synchronize(peer)
                    if outcome.sent > 0 || outcome.received != ChangeLog.Outcome() { isQuiet = false }
                    // Changes of a copy that has left may be lost, and the others cannot take the changes after them.
                    if !outcome.isComplete, !hasLeft { isQuiet = false }
                    if !outcome.isComplete, restored.contains(peer.name) { waiting.append(place) }
                }
                if isQuiet, round > 2 { break }
                #expect(round < 15, "seed \(seed): it does not come to rest")
            }
            if waiting.isEmpty || isLast { break }
            // Changes that follow lost changes are lost too, if no copy has them.
            let there = try peers.flatMap { try $0.rows() }
            fresh = fresh.filter { id, _ in there.contains { $0.contains(id) } }
            for place in waiting {
                let peer = peers[place], name = peer.name + "x"
                try await peer.log.withLog { log in _ = try log.rename(to: name) }
                try await peer.log.database.close()
                peers[place] = try Peer(name, peer.path, time, numbers)
                seen.renamed += 1
            }
        }
        let expected = try peers[0].rows()
        // If chains are lost and the store returns to an older state, changes that only one copy had may be lost.
        let gone = seed % 2 == 1 ? [] : fresh.keys.filter { id in !expected.contains { $0.contains(id) } }.sorted()
        #expect(gone == [], "seed \(seed): \(fresh)")
        for peer in peers {
            let rows = try peer.rows()
            #expect(Set(rows).symmetricDifference(expected).sorted() == [], "seed \(seed) \(peer.name)")
            #expect(rows.count == expected.count)
            let isIntact = try await peer.log.database.write { db in
                try db.fullText("note_fts").passesIntegrityCheck() && db.main.foreignKeyViolations() == [] && db.main.integrityCheck() == []
            }
            #expect(isIntact, "seed \(seed)")
        }
        return memory.objects
    }

    @Test func copiesConvergeOverHostileStore() async throws {
        var seen = Seen()
        let seeds = LongTests.seeds(1, of: 400)
        for seed in seeds {
            do { try await Self.run(seed, steps: LongTests.areOn ? 150 : 70, &seen) } catch { Issue.record(error, "seed \(seed)") }
        }
        if seeds.count < 3 { return }
        #expect(seen.cuts + seen.refused > 2 && seen.restored + seen.renewed > 0 && seen.pruned > 10, "\(seen)")
    }

    /// The seed that a failure names leads to it again: each object has the same bytes.
    @Test func changeStoreModelRunsRepeatBySeed() async throws {
        var seen = Seen(), sums: [UInt64] = []
        for seed: UInt64 in [0, 1, 0] {
            let objects = try await Self.run(seed, steps: 25, &seen)
            let bytes = objects.sorted { $0.key < $1.key }.flatMap { Array($0.key.utf8) + $0.value }
            sums.append(bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })
        }
        #expect(sums[0] == sums[2] && sums[0] != sums[1])
    }

    // MARK: A copy that writes nonsense

    /// Puts a value at its bounds, or at random, into a copy's log, or changes rows that keep their times: its messages have it
    /// then, validly sealed, and some have all its rows. What it says of others stays: a holder of the key can write in another's
    /// name.
    /// - Returns: a description of the change.
    private static func spoil(_ db: Connection, _ random: inout SeededGenerator, _ now: Date) throws -> String {
        let clock = Int64(now.timeIntervalSince1970 * 1000) << 16, day: Int64 = 86_400_000 << 16
        let bounds: [Int64] = [
            0, 1, -1, .min, .max, .max - (1 << 32), .max - (1 << 32) + 1, 1 << 40, (1 << 40) - 1, clock, clock + day, clock + day + 1,
            clock + day - (1 << 20), clock - 400 * day, 1 << 16,
        ]
        let number = bounds.randomElement(using: &random) ?? 0
        let kind = Int.random(in: 0..<14, using: &random)
        switch kind {
        case 0: try db.execute("UPDATE changelog SET clock = \(number) WHERE id = (SELECT max(id) FROM changelog)")
        case 1: try db.execute("UPDATE changelog SET clock = \(number) WHERE id = (SELECT min(id) FROM changelog)")
        case 2, 3:
            let entries: [(Int64, Data)] = try db.fetchAll("SELECT id, changes FROM changelog ORDER BY id")
            guard let (id, entry) = entries.randomElement(using: &random) else { break }
            var bytes = entry
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Int.random(in: 0..<8, using: &random) == 0 { bytes = bytes.dropLast(1 + bytes.count / 9) }
            try db.execute("UPDATE changelog SET changes = \(bytes) WHERE id = \(id)")
        case 4: try db.execute("UPDATE changelog_peer SET clock = \(number) WHERE peer = 'h' AND origin = 'h'")
        case 5: try db.execute("UPDATE changelog_peer SET sequence = \(number) WHERE peer = 'h' AND origin = 'h'")
        case 6: try db.execute("INSERT OR REPLACE INTO changelog_state VALUES ('clock', \(number))")
        case 7: try db.execute("INSERT OR REPLACE INTO changelog_state VALUES ('horizon', \(number))")
        case 8, 9:
            let records: [(Data, Data)] = try db.fetchAll("SELECT first, rows FROM changelog_row ORDER BY first")
            guard let (first, rows) = records.randomElement(using: &random) else { break }
            var bytes = rows
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            try db.execute("UPDATE changelog_row SET rows = \(bytes) WHERE first = \(first)")
        case 10: try db.execute("DELETE FROM changelog_row WHERE first = (SELECT max(first) FROM changelog_row)")
        default:
            for _ in 0..<3 { try db.execute(statement(&random)) }
            // Nothing tells the log.
            for table in ["note", "folder", "part"] { try db.execute("DELETE FROM changelog_outside_\(raw: table)") }
        }
        if Bool.random(using: &random) { try db.execute("INSERT OR REPLACE INTO changelog_state VALUES ('lacks', 1)") }
        return "\(kind) \(number)"
    }

    private static func chains(_ store: MemoryStore) -> Set<String> {
        Set(store.objects.keys.map { $0.split(separator: "/").dropLast().joined(separator: "/") })
    }

    /// All copies take the same messages, and when the nonsense is gone, all go on and are equal.
    private static func runWithNonsense(_ seed: UInt64, _ seen: inout Seen) async throws {
        var random = SeededGenerator(state: seed)
        let folder = try TemporaryFolder(), time = Time(), numbers = Numbers(seed), memory = MemoryStore()
        var store = ChangeStore(memory, key: try .raw([UInt8](repeating: 2, count: 32)))
        store.random = { numbers.bytes($0) }
        store.partSize = 700
        store.largestCount = seed % 2 == 0 ? 2 : 256
        var peers: [Peer] = []
        for name in ["a", "b", "c", "h"] { peers.append(try Peer(name, folder.path(name), time, numbers)) }
        func edit(_ peer: Peer) async throws {
            let statements = (0..<3).map { _ in statement(&random) }
            try await peer.log.write { db in for statement in statements { try db.execute(statement) } }
            time.pass(1)
        }
        var others: Set<String> = [], own: Set<String> = [], done: [String] = []
        for (number, peer) in (peers + peers).enumerated() {
            try await edit(peer)
            try await peer.log.synchronize(with: store)
            if number == 2 { others = chains(memory) }
            if number == 3 { own = chains(memory).subtracting(others) }
        }
        for _ in 0..<3 {
            for place in [0, 1, 2, 3].shuffled(using: &random) {
                let peer = peers[place], now = time.now
                if place == 3 {
                    let statements = (0..<3).map { _ in statement(&random) }
                    let state = random.next()
                    done += try await peer.log.database.write { db in
                        var random = SeededGenerator(state: state)
                        for statement in statements { try db.execute(statement) }
                        return try (0..<2).map { _ in try spoil(db, &random, now) }
                    }
                } else {
                    try await edit(peer)
                }
                do { try await peer.log.synchronize(with: store) } catch is DatabaseError { seen.refused += 1 }
            }
        }
        // The copy was noticed: its objects are removed, and the others go on, with another copy that joins.
        memory.restore(memory.objects.filter { object in !own.contains { object.key.hasPrefix($0 + "/") } })
        peers.removeLast()
        for round in 0..<12 {
            for peer in peers {
                if round < 3 { try await edit(peer) }
                try await peer.log.synchronize(with: store)
            }
            if round == 1 { peers.append(try Peer("n", folder.path("n"), time, numbers)) }
            time.pass(86_400)
        }
        let expected = try peers[0].rows()
        for peer in peers {
            let rows = try peer.rows()
            #expect(Set(rows).symmetricDifference(expected).sorted() == [], "seed \(seed) \(peer.name): \(done)")
        }
    }

    @Test func nonsenseChangesAreAcceptedByAllCopiesOrNone() async throws {
        var seen = Seen()
        let seeds = LongTests.seeds(1, of: 600)
        for seed in seeds {
            do { try await Self.runWithNonsense(seed, &seen) } catch { Issue.record(error, "seed \(seed)") }
        }
        if seeds.count > 2 { #expect(seen.refused > 0, "\(seen)") }
    }
}
