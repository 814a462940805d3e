import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Whatever triggers, cascades and constraints write, inside of a log or outside, copies end with the same rows.
@Suite struct ChangeLogTriggersTests {
    typealias Peer = ChangeLogConvergenceTests.Peer

    /// A schema that is drawn: the logged tables `item` and `part`, the table `plain`, which is not logged, and triggers.
    struct Form {
        private static let keys = [
            "INTEGER PRIMARY KEY", "TEXT PRIMARY KEY COLLATE NOCASE", "TEXT PRIMARY KEY", "REAL PRIMARY KEY", "INTEGER PRIMARY KEY",
        ]
        static let tables = ["item", "part"]
        let schema: String
        private(set) var triggers: [String] = []
        let isRecursive: Bool, isText: Bool
        init(_ random: inout SeededGenerator) {
            func one(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
            let kind = Int.random(in: 0..<Self.keys.count, using: &random)
            isText = Self.keys[kind].hasPrefix("TEXT")
            let action = one(["ON DELETE CASCADE ON UPDATE CASCADE", "ON DELETE SET NULL", "", "ON DELETE CASCADE"])
            let generated = one(["", "g AS (n || a), ", "g AS (n + 1) STORED, "])
            let unique = one(["UNIQUE", "UNIQUE ON CONFLICT REPLACE", "", "UNIQUE COLLATE NOCASE"])
            let end = kind == 4 || Bool.random(using: &random) ? "WITHOUT ROWID" : ""
            schema = """
                CREATE TABLE item(id \(Self.keys[kind]), \(generated)a, n INTEGER NOT NULL DEFAULT 0, u \(unique),
                    up REFERENCES item \(one(["ON DELETE CASCADE", "ON DELETE SET NULL"]))) \(end);
                CREATE TABLE part(id INTEGER PRIMARY KEY, item REFERENCES item \(action), v) \(one(["", "WITHOUT ROWID"]));
                CREATE TABLE plain(id INTEGER PRIMARY KEY, x, y);
                """
            isRecursive = Int.random(in: 0..<3, using: &random) == 0
            for number in 0..<Int.random(in: 1...6, using: &random) { triggers.append(trigger(number, &random)) }
        }

        func key(_ number: Int, isUpper: Bool = false) -> SQLValue {
            isText ? .text((isUpper ? "K" : "k") + "\(number)") : .integer(Int64(number))
        }

        private func literal(_ number: Int) -> String { isText ? "'k\(number)'" : "\(number)" }

        /// Rows with a number of 100 in `a` are left in place.
        private func trigger(_ number: Int, _ random: inout SeededGenerator) -> String {
            func one(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
            let table = one(["item", "item", "item", "part", "plain"]), event = one(["INSERT", "INSERT", "UPDATE", "DELETE"])
            let timing = one(["AFTER", "AFTER", "BEFORE"]), row = event == "DELETE" ? "OLD" : "NEW"
            let id = literal(Int.random(in: 1...6, using: &random)), small = Int.random(in: 1...6, using: &random)
            let own = table == "item" ? "\(row).id" : table == "part" ? "\(row).item" : "\(row).x"
            let value = table == "item" ? "\(row).a" : table == "part" ? "\(row).v" : "\(row).y"
            let when = "\(value) IS NOT 100"
            var bodies = [
                "UPDATE item SET n = n + 1 WHERE id = \(own) AND n < 3", "UPDATE item SET a = 'x' WHERE id = \(own) AND a IS NOT 'x'",
                "UPDATE item SET n = n + 1 WHERE id = \(own) AND n < 3", "DELETE FROM item WHERE id = \(own) AND a = \(small)",
                "UPDATE OR IGNORE item SET id = \(id) WHERE id = \(own) AND a = \(small)",
                "UPDATE OR REPLACE item SET id = \(id) WHERE id = \(own) AND a = \(small)",
                "INSERT OR REPLACE INTO item(id, a) SELECT \(own), 'y' WHERE \(value) = \(small)",
                "INSERT OR IGNORE INTO item(id, a) SELECT \(id), \(small) WHERE \(value) <> \(small)",
                "INSERT OR REPLACE INTO item(id, a, u) SELECT \(id), \(value), \(small) WHERE \(value) < 4",
                "INSERT INTO item(id, a) SELECT \(id), 1 WHERE \(value) = \(small) ON CONFLICT DO UPDATE SET n = 7",
                "INSERT OR REPLACE INTO part(id, item, v) VALUES (\(small), \(own), \(value))",
                "UPDATE part SET v = 'z' WHERE item = \(own) AND v IS NOT 'z'", "DELETE FROM part WHERE item = \(own)",
                "INSERT INTO plain(x, y) SELECT \(own), \(value) WHERE (SELECT count(*) FROM plain) < 40",
                "SELECT RAISE(IGNORE) WHERE \(value) = \(small)", "DELETE FROM item WHERE id = \(id) AND a < 3",
            ]
            if table == "part" { bodies += ["UPDATE part SET v = 'w' WHERE id = \(row).id AND v IS NOT 'w'", "DELETE FROM part WHERE id = \(row).id"] }
            return "CREATE TRIGGER r\(number) \(timing) \(event) ON \(table) WHEN \(when) BEGIN \(one(bodies)); END"
        }

        func statement(_ random: inout SeededGenerator) -> SQL {
            func number() -> Int { Int.random(in: 1...6, using: &random) }
            func key() -> SQLValue { self.key(number(), isUpper: Bool.random(using: &random)) }
            let id = key(), other = key(), a = number(), u: Int? = number() < 4 ? number() : nil
            let up: SQLValue = number() < 3 ? key() : .null
            let how = ["", "OR REPLACE", "OR IGNORE", "OR FAIL"].randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<15, using: &random) {
            case 0, 1, 2: return "INSERT \(raw: how) INTO item(id, a, u, up) VALUES (\(id), \(a), \(u), \(up))"
            case 3: return "INSERT INTO item(id, a) VALUES (\(id), \(a)) ON CONFLICT(id) DO UPDATE SET a = excluded.a"
            case 4, 5: return "UPDATE item SET a = \(a) WHERE id = \(id)"
            case 6: return "UPDATE \(raw: how) item SET u = \(u), up = \(up) WHERE id = \(id)"
            case 7: return "UPDATE \(raw: how) item SET id = \(other) WHERE id = \(id)"
            case 8, 9: return "DELETE FROM item WHERE id = \(id)"
            case 10: return "DELETE FROM item WHERE a < \(a)"
            case 11: return "INSERT \(raw: how) INTO part(id, item, v) VALUES (\(number()), \(id), \(a))"
            case 12: return "UPDATE part SET v = \(a), item = \(id) WHERE id = \(number())"
            case 13: return "INSERT INTO plain(x, y) VALUES (\(id), \(a))"
            default: return "UPDATE plain SET y = \(a) WHERE x = \(id)"
            }
        }
    }

    private static func rows(_ db: Connection) throws -> [String] {
        try Form.tables.flatMap { table in
            try db.fetchAll(OwnedRow.self, SQL(raw: "SELECT * FROM \(table)")).map { "\(table) \($0.values.shown)" }.sorted()
        }
    }

    private struct Cut: Error {}

    private static func edit(_ form: Form, _ db: Connection, _ random: inout SeededGenerator) throws {
        let sql = form.statement(&random)
        do { try db.execute(sql) } catch let error as DatabaseError where error.code.primary == .constraint {
        } catch let error as DatabaseError where error.message.hasPrefix("too many levels of trigger recursion") {}
    }

    /// - Parameter fresh: the number of a row that no other statement writes; nil for none.
    private static func write(_ form: Form, _ peer: Peer, fresh: Int?, _ random: inout SeededGenerator) throws {
        let count = Int.random(in: 1...3, using: &random)
        func work() throws {
            for _ in 0..<count {
                if Int.random(in: 0..<8, using: &random) > 0 {
                    try edit(form, peer.db, &random)
                    continue
                }
                do {
                    try peer.db.savepoint { db in
                        try edit(form, db, &random)
                        throw Cut()
                    }
                } catch is Cut {}
            }
            guard let fresh else { return }
            try peer.db.execute("INSERT INTO item(id, a) VALUES (\(form.key(fresh)), 100)")
        }
        if Bool.random(using: &random) { try peer.db.transaction { _ in try work() } } else { try peer.log.write { _ in try work() } }
    }

    /// Lets a copy go on from a backup: it receives from all others, and its messages on the way are lost.
    private static func restore(
        _ place: Int, _ peers: inout [Peer], from backup: Connection,
        _ open: (String, Connection, inout SeededGenerator) throws -> Peer, _ sent: inout [ChangeLogConvergenceTests.Sent], _ form: Form, _ random: inout SeededGenerator
    ) throws -> ChangeLog.RestoreChoice? {
        let name = peers[place].log.localPeer, peer = try open(name, backup, &random)
        peers[place] = peer
        try sent.removeAll { try ChangeLog.Message(data: $0.data).sender == name }
        for _ in 0..<Int.random(in: 0...2, using: &random) { try write(form, peer, fresh: nil, &random) }
        let choice = Bool.random(using: &random) ? ChangeLog.RestoreChoice.takingOthers : .keepingThisState
        var isChosen = false, waiting = peers.indices.filter { $0 != place }.shuffled(using: &random)
        while let other = waiting.first {
            var message = try peers[other].log.snapshot()
            if Bool.random(using: &random), let entries = try? peers[other].log.changes() { message = entries }
            do {
                try peer.log.receive(message)
                waiting.removeFirst()
            } catch let error as DatabaseError where error.reason == .copyRestored {
                try peer.log.resolveRestore(choice)
                isChosen = true
            }
        }
        return isChosen ? choice : nil
    }

    /// - Returns: a line for each difference.
    static func run(seed: UInt64, steps: Int, _ restored: inout [ChangeLog.RestoreChoice: Int]) throws -> [String] {
        var random = SeededGenerator(state: seed), seen = ChangeLogConvergenceTests.Seen()
        let form = Form(&random), prunes = Bool.random(using: &random), forgets = prunes && Bool.random(using: &random)
        let policies: [String: ChangeLog.MergePolicy] = Bool.random(using: &random) ? ["item": .row] : [:]
        func open(_ name: String, _ db: Connection, _ random: inout SeededGenerator) throws -> Peer {
            let peer = try Peer(name, db, skew: Double.random(in: -50...50, using: &random), tables: Form.tables, mergePolicies: policies)
            if Int.random(in: 0..<4, using: &random) == 0 { peer.log.triggers = .except(form.triggers.indices.map { "r\($0)" }) }
            return peer
        }
        var peers: [Peer] = []
        for name in ["a", "b", "c"] {
            let db = try Connection(.memory)
            try db.execute(SQL(raw: "PRAGMA recursive_triggers = \(form.isRecursive)"))
            try db.execute(SQLScript(form.schema))
            let isFirst = Bool.random(using: &random)
            if isFirst { for sql in form.triggers { try db.execute(SQL(raw: sql)) } }
            peers.append(try open(name, db, &random))
            if isFirst { continue }
            for sql in form.triggers { try db.execute(SQL(raw: sql)) }
            if Bool.random(using: &random) { try peers.last?.log.logOutsideChanges() }
        }
        for peer in peers {
            for other in peers where other !== peer && (!forgets || Bool.random(using: &random)) {
                try peer.log.add(peer: other.log.localPeer)
            }
        }
        var sent: [ChangeLogConvergenceTests.Sent] = [], fresh: [Int: Set<Int>] = [:], last = 100
        var backup: (place: Int, db: Connection)?
        func has(_ peer: Peer, _ number: Int) throws -> Bool {
            try peer.db.fetchOne(Int.self, "SELECT 1 FROM item WHERE id = \(form.key(number))") != nil
        }
        for step in 0..<steps {
            if step == steps / 4 || step == steps / 2, Bool.random(using: &random) {
                let place = Int.random(in: 0..<3, using: &random), db = try Connection(.memory)
                try db.execute(SQL(raw: "PRAGMA recursive_triggers = \(form.isRecursive)"))
                try peers[place].db.main.backup(to: db.main)
                backup = (place, db)
            } else if let (place, db) = backup, Int.random(in: 0..<steps / 4, using: &random) == 0 {
                backup = nil
                if Int.random(in: 0..<4, using: &random) > 0 {
                    last += 1
                    try write(form, peers[place], fresh: last, &random)
                    fresh[place, default: []].insert(last)
                    let to = (place + Int.random(in: 1...2, using: &random)) % 3
                    try peers[to].log.receive(peers[place].log.snapshot())
                }
                let before = peers
                let choice = try restore(place, &peers, from: db, open, &sent, form, &random)
                if let choice { restored[choice, default: 0] += 1 }
                // Changes that no other copy had are lost with the copy.
                for number in fresh[place] ?? [] where try !has(peers[place], number) {
                    let isElsewhere = try peers.indices.contains { try $0 != place && has(before[$0], number) }
                    if !isElsewhere { fresh[place]?.remove(number) }
                }
            }
            let action = Int.random(in: 0..<10, using: &random)
            let from = Int.random(in: 0..<3, using: &random), to = (from + Int.random(in: 1...2, using: &random)) % 3
            if action < 4 {
                let isFresh = Int.random(in: 0..<5, using: &random) == 0
                if isFresh { last += 1 }
                try write(form, peers[from], fresh: isFresh ? last : nil, &random)
                if isFresh { fresh[from, default: []].insert(last) }
            } else if action < 6 {
                try ChangeLogConvergenceTests.send(peers[from], peers[to], to, &sent, forgets: forgets, &seen, &random)
            } else if action < 9 {
                try ChangeLogConvergenceTests.deliver(peers, &sent, &seen, &random)
            } else if prunes {
                try peers[from].log.prune(gracePeriod: forgets && Bool.random(using: &random) ? .zero : nil)
            }
        }
        try ChangeLogConvergenceTests.settle(peers, &seen, &random)
        var wrong: [String] = []
        let expected = try rows(peers[0].db)
        for peer in peers {
            let name = peer.log.localPeer, found = try rows(peer.db)
            for line in Set(found).symmetricDifference(expected).sorted() { wrong.append("\(name): \(line)") }
            for violation in try peer.db.main.foreignKeyViolations() { wrong.append("\(name): \(violation)") }
            wrong += try peer.db.main.integrityCheck()
            for number in fresh.values.joined() where try !has(peer, number) { wrong.append("\(name): the row \(number) is gone") }
        }
        if !wrong.isEmpty { wrong += [form.schema] + form.triggers }
        return wrong
    }

    @Test func peersConvergeUnderTriggersOfEveryKind() throws {
        var restored: [ChangeLog.RestoreChoice: Int] = [:]
        let seeds = LongTests.seeds(4, of: 4000)
        for seed in seeds {
            do {
                let wrong = try Self.run(seed: seed, steps: LongTests.areOn ? 90 : 60, &restored)
                #expect(wrong == [], "seed \(seed)")
            } catch { Issue.record(error, "seed \(seed)") }
        }
        if seeds.count >= 8 { #expect(restored.count == 2, "\(restored)") }
    }
}
