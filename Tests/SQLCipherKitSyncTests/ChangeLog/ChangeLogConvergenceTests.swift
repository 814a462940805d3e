import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Peers that edit on their own, and whose messages arrive in any order, more than once, or not at all, have the same rows in the
/// end.
@Suite struct ChangeLogConvergenceTests {
    static let tables = ["note", "tag", "link", "place", "span"] + KeyedTables.names

    /// Unique columns, foreign keys of each kind, checks over two columns, keys that are clashing or have several spellings, and
    /// triggers.
    static let schema = SQLScript(KeyedTables.schema + """
        CREATE TABLE note(id TEXT PRIMARY KEY, title, body, stars INTEGER NOT NULL DEFAULT 0, parent TEXT REFERENCES note ON DELETE CASCADE);
        CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE, note TEXT REFERENCES note(id) ON DELETE CASCADE);
        CREATE TABLE link(a INTEGER, b TEXT, note TEXT REFERENCES note ON DELETE SET NULL, tag INTEGER REFERENCES tag, twice AS (a * 2), PRIMARY KEY (b, a)) WITHOUT ROWID;
        CREATE UNIQUE INDEX link_note ON link(lower(note)) WHERE a > 3;
        CREATE TABLE place(id BLOB PRIMARY KEY, x REAL, y REAL, CHECK (x + y < 9));
        CREATE TABLE span(id INTEGER PRIMARY KEY, low, high, CHECK (low <= high));
        CREATE TABLE log(what);
        CREATE TABLE shown(note TEXT REFERENCES note ON DELETE CASCADE, at);
        CREATE TRIGGER note_new AFTER INSERT ON note BEGIN INSERT INTO log VALUES (new.id); INSERT INTO shown VALUES (new.id, 1); END;
        CREATE TRIGGER note_stars AFTER UPDATE OF title ON note BEGIN UPDATE note SET stars = stars + 1 WHERE id = new.id; END;
        """)

    final class Peer {
        let db: Connection
        let log: ChangeLog
        /// Decides about the tables whose keys have several spellings.
        var keyed: SeededGenerator
        /// The positions of the others that it once knew: messages are also made for old positions.
        var known: [ChangeLog.Position] = [ChangeLog.Position()]
        /// Up to where it has sent messages.
        var sent: [Int: ChangeLog.Position] = [:]
        private(set) var isMigrated = false

        func migrate() throws {
            if isMigrated { return }
            isMigrated = true
            try db.execute(SQLScript("""
                ALTER TABLE note ADD COLUMN added DEFAULT 'none';
                ALTER TABLE tag ADD COLUMN added INTEGER NOT NULL DEFAULT 7;
                ALTER TABLE place ADD COLUMN z REAL DEFAULT (-1.5);
                """))
        }

        init(
            _ name: String, _ db: Connection, skew: TimeInterval, tables: [String] = ChangeLogConvergenceTests.tables,
            mergePolicies: [String: ChangeLog.MergePolicy] = ["PLACE": .row]
        ) throws {
            self.db = db
            keyed = SeededGenerator(state: skew.bitPattern)
            log = try ChangeLog(db, tables: tables, localPeer: name, mergePolicies: mergePolicies)
            log.now = { Date(timeIntervalSinceNow: skew) }
        }
    }

    static func rows(_ db: Connection) throws -> [String] {
        var lines: [String] = []
        for table in tables {
            let rows = try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(table)"))
            lines += rows.map { "\(table) \($0.values.shown)" }.sorted()
        }
        return lines
    }

    static func edit(_ peer: Peer, _ random: inout SeededGenerator) throws {
        let sql = peer.isMigrated && Int.random(in: 0..<4, using: &random) == 0 ? addition(&random) : statement(&random)
        let result = Result { try peer.db.execute(sql) }
        if let error = result.failed as? DatabaseError, error.code.primary == .constraint { return }
        try result.get()
    }

    static func statement(_ random: inout SeededGenerator) -> SQL {
        func id() -> Int { Int.random(in: 1...6, using: &random) }
        func note() -> String { "n\(id())" }
        let number = Int.random(in: 0..<6, using: &random), isFirst = Bool.random(using: &random)
        let name = ["T1", "t1", "t2", "é", "e\u{301}"].randomElement(using: &random)
        let blob = Data([UInt8(number)])
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1: return "INSERT INTO note(id, title, body, stars, parent) VALUES (\(note()), \(number), \(number), \(number), \((isFirst ? note() : nil) as String?))"
        case 2: return "UPDATE note SET title = \(number) WHERE id = \(note())"
        case 3: return "UPDATE note SET body = \(number), parent = \(note()) WHERE id = \(note())"
        case 4: return "DELETE FROM note WHERE id = \(note())"
        case 5: return "INSERT OR REPLACE INTO tag(id, name, note) VALUES (\(id()), \("t\(number)"), \(note()))"
        case 6: return "UPDATE tag SET name = \(name as String?) WHERE id = \(id())"
        case 7: return "UPDATE tag SET id = \(id()) WHERE id = \(id())"
        case 8: return "DELETE FROM tag WHERE id = \(id())"
        case 9: return "INSERT INTO link(a, b, note, tag) VALUES (\(id()), 'b', \(note()), \((isFirst ? id() : nil) as Int?))"
        case 10: return "UPDATE link SET note = \(note()) WHERE a = \(id())"
        case 11: return "DELETE FROM link WHERE a = \(id())"
        case 12: return "INSERT OR REPLACE INTO place(id, x, y) VALUES (\(blob), \(number), \(id()))"
        case 13: return "UPDATE place SET \(raw: isFirst ? "x" : "y") = \(id()) WHERE id = \(blob)"
        case 14: return "INSERT OR REPLACE INTO span VALUES (\(id()), \(number), \(number + id()))"
        default: return "UPDATE span SET \(raw: isFirst ? "low" : "high") = \(number) WHERE id = \(id())"
        }
    }

    /// A change to a column that not every peer has yet.
    static func addition(_ random: inout SeededGenerator) -> SQL {
        let number = Int.random(in: 1...6, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return "INSERT INTO note(id, title, added) VALUES (\("n\(number)"), \(number), \(number))"
        case 1: return "UPDATE note SET added = \(number) WHERE id = \("n\(number)")"
        case 2: return "UPDATE tag SET added = \(number) WHERE id = \(number)"
        default: return "INSERT OR REPLACE INTO place VALUES (\(Data([UInt8(number % 6)])), \(number), 1, \(number))"
        }
    }

    /// Swaps unique values, so that no row can be written before the others.
    static func swap(_ peer: Peer) throws {
        let rows: [(Int, String)] = try peer.db.fetchAll("SELECT id, name FROM tag WHERE name IS NOT NULL ORDER BY id LIMIT 2")
        guard rows.count == 2 else { return }
        try peer.db.execute("UPDATE tag SET name = NULL WHERE id = \(rows[0].0)")
        try peer.db.execute("UPDATE tag SET name = \(rows[0].1) WHERE id = \(rows[1].0)")
        try peer.db.execute("UPDATE tag SET name = \(rows[1].1) WHERE id = \(rows[0].0)")
    }

    struct Cut: Error {}

    struct Seen {
        var applied = 0, outdated = 0, deleted = 0, detached = 0, kept = 0
        var missing = 0, unmigrated = 0, repeated = 0, cuts = 0, pruned = 0

        mutating func add(_ outcome: ChangeLog.Outcome) {
            for table in outcome.tables {
                applied += table.applied
                outdated += table.outdated
                deleted += table.deleted
                detached += table.detached
                kept += table.kept
            }
            repeated += outcome.repeated
        }
    }

    struct Sent {
        let to: Int
        let data: Data
    }

    static func write(_ peer: Peer, _ seen: inout Seen, _ random: inout SeededGenerator) throws {
        let count = Int.random(in: 1...4, using: &random), fails = Int.random(in: 0..<12, using: &random) == 0
        func work() throws {
            for _ in 0..<count {
                try edit(peer, &random)
                try peer.db.execute(KeyedTables.statement(&peer.keyed))
            }
            if count == 4 { try swap(peer) }
            if fails { throw Cut() }
        }
        // At times without the log, which notices it.
        let isOutside = Int.random(in: 0..<8, using: &random) == 0
        let result = Result { try isOutside ? peer.db.transaction { _ in try work() } : peer.log.write { _ in try work() } }
        #expect((result.failed is Cut) == fails)
        seen.cuts += fails ? 1 : 0
    }

    /// Makes a message for the position that a peer has, or had at another time.
    static func send(
        _ from: Peer, _ peer: Peer, _ to: Int, _ sent: inout [Sent], forgets: Bool, _ seen: inout Seen,
        _ random: inout SeededGenerator
    ) throws {
        peer.known.append(try peer.log.position)
        // At times it takes for granted that the last message has arrived.
        let takenForGranted = Bool.random(using: &random) ? from.sent[to] : nil
        let position = try takenForGranted ?? #require(peer.known.suffix(3).randomElement(using: &random))
        let isWhole = forgets && Int.random(in: 0..<3, using: &random) == 0
        let made = try unlessRefused(&seen, { try isWhole ? from.log.snapshot() : from.log.changes(since: position) })
        guard let message = made else { return }
        from.sent[to] = message.until
        sent.append(Sent(to: to, data: message.data))
    }

    static func deliver(_ peers: [Peer], _ sent: inout [Sent], _ seen: inout Seen, _ random: inout SeededGenerator) throws {
        guard let place = sent.indices.randomElement(using: &random) else { return }
        let target = peers[sent[place].to]
        let message = try ChangeLog.Message(data: sent[place].data)
        if Int.random(in: 0..<5, using: &random) == 0 {
            // The effect of a crash on a transaction.
            let before = try Contents.of(target.db)
            let token = try target.db.addCommitHook { throw Cut() }
            #expect(throws: DatabaseError.self) { try target.log.receive(message) }
            token.remove()
            #expect(try Contents.of(target.db) == before)
            seen.cuts += 1
        } else if let outcome = try unlessRefused(&seen, { try target.log.receive(message) }) {
            seen.add(outcome)
        }
        // Most messages are lost afterwards; others come again.
        if Int.random(in: 0..<3, using: &random) > 0 { sent.remove(at: place) }
    }

    static func unlessRefused<R>(_ seen: inout Seen, _ body: () throws -> R) throws -> R? {
        let result = Result { try body() }
        if let error = result.failed as? DatabaseError, error.reason == .changesMissing {
            seen.missing += 1
            return nil
        }
        if let error = result.failed as? DatabaseError, error.code == .schema {
            seen.unmigrated += 1
            return nil
        }
        return try result.get()
    }

    /// - Parameter forgets: whether no peer waits for another peer when it prunes, and some do not know all others.
    static func run(seed: UInt64, steps: Int, prunes: Bool, migrates: Bool, forgets: Bool, _ seen: inout Seen) throws {
        var random = SeededGenerator(state: seed)
        var peers: [Peer] = []
        for name in ["a", "b", "c"] {
            let db = try Connection(.memory)
            try db.execute(schema)
            peers.append(try Peer(name, db, skew: Double.random(in: -50...50, using: &random)))
        }
        for peer in peers {
            for other in peers where other !== peer && (!forgets || Bool.random(using: &random)) {
                try peer.log.add(peer: other.log.localPeer)
            }
        }
        var sent: [Sent] = []
        for step in 0..<steps {
            if migrates, step >= steps / 3, Int.random(in: 0..<steps / 4, using: &random) == 0 {
                try peers.randomElement(using: &random)?.migrate()
            }
            let action = Int.random(in: 0..<10, using: &random)
            let from = Int.random(in: 0..<3, using: &random), to = (from + Int.random(in: 1...2, using: &random)) % 3
            if action < 4 {
                try write(peers[from], &seen, &random)
            } else if action < 6 {
                try send(peers[from], peers[to], to, &sent, forgets: forgets, &seen, &random)
            } else if action < 9 {
                try deliver(peers, &sent, &seen, &random)
            } else if prunes {
                seen.pruned += try peers[from].log.prune(gracePeriod: forgets && Bool.random(using: &random) ? .zero : nil)
            }
        }
        if migrates { for peer in peers { try peer.migrate() } }
        try settle(peers, &seen, &random)
        let expected = try rows(peers[0].db)
        for peer in peers {
            #expect(try rows(peer.db) == expected, "seed \(seed)")
            #expect(try peer.db.main.foreignKeyViolations() == [], "seed \(seed)")
            #expect(try peer.db.main.integrityCheck() == [], "seed \(seed)")
            #expect(try peer.log.position == peers[0].log.position)
        }
    }

    /// Sends everything, until no peer lacks anything.
    static func settle(_ peers: [Peer], _ seen: inout Seen, _ random: inout SeededGenerator) throws {
        for round in 0..<20 {
            var isQuiet = true
            for from in peers.shuffled(using: &random) {
                for to in peers.shuffled(using: &random) where to !== from {
                    let position = try to.log.position
                    let message = try unlessRefused(&seen) { try from.log.changes(since: position) } ?? from.log.snapshot()
                    if !message.isEmpty, !message.isSnapshot || !position.includes(message.until) { isQuiet = false }
                    seen.add(try to.log.receive(message))
                }
            }
            if isQuiet { return }
            #expect(round < 19, "it does not come to rest")
        }
    }

    @Test func peersConvergeUnderRandomEdits() throws {
        var seen = Seen()
        let seeds = LongTests.seeds(4, of: 2000)
        for seed in seeds {
            try Self.run(
                seed: seed, steps: LongTests.areOn ? 200 : 120, prunes: seed % 2 == 0, migrates: seed % 4 >= 2,
                forgets: seed % 3 == 0, &seen)
        }
        if seeds.count < 32 { return }
        #expect(seen.applied > 500 && seen.outdated > 20 && seen.repeated > 20 && seen.cuts > 20)
        #expect(seen.deleted > 5 && seen.detached > 0 && seen.kept > 0 && seen.missing > 5 && seen.pruned > 20, "\(seen)")
        #expect(seen.unmigrated > 9)
    }

    /// Two copies of one database, and a third that begins empty, with a thousand edits each.
    @Test func peersConvergeAfterThousandEditsEach() throws {
        var random = SeededGenerator(state: 77), seen = Seen()
        let first = try Connection(.memory), second = try Connection(.memory), third = try Connection(.memory)
        try first.execute(Self.schema)
        try third.execute(Self.schema)
        let a = try Peer("laptop", first, skew: 0)
        try a.log.write { _ in for _ in 0..<50 { try Self.edit(a, &random) } }
        try a.log.add(peer: "phone")
        try a.log.add(peer: "tablet")
        try first.main.backup(to: second.main)
        let peers = [a, try Peer("phone", second, skew: -3600), try Peer("tablet", third, skew: 3600)]
        for peer in peers {
            for _ in 0..<250 { try peer.log.write { _ in for _ in 0..<4 { try Self.edit(peer, &random) } } }
        }
        try Self.settle(peers, &seen, &random)
        let expected = try Self.rows(first)
        #expect(expected.count > 10)
        for peer in peers { #expect(try Self.rows(peer.db) == expected) }
        for peer in peers {
            let entries = try peer.db.fetchOne(Int.self, "SELECT count(*) FROM changelog") ?? 0
            #expect(entries > 500)
            #expect(try peer.log.prune() == entries)
        }
        for peer in peers {
            #expect(try peer.db.fetchOne(Int.self, "SELECT count(*) FROM changelog_row WHERE gone > 0") == 0)
            try peer.log.write { _ in for _ in 0..<20 { try Self.edit(peer, &random) } }
        }
        try Self.settle(peers, &seen, &random)
        for peer in peers { #expect(try Self.rows(peer.db) == Self.rows(first)) }
    }
}

extension Result {
    fileprivate var failed: Failure? { if case .failure(let error) = self { error } else { nil } }
}
