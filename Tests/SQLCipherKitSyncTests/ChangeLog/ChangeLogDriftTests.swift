import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Former causes of copies that differ for good: wrong clocks, and content of logs and messages that no log writes.
@Suite struct ChangeLogDriftTests {
    private func peer(_ name: String, _ location: DatabaseLocation = .memory) throws -> ChangeLog {
        try ChangeLogPeers.peer(name, location)
    }
    private func exchange(_ a: ChangeLog, _ b: ChangeLog) throws { try ChangeLogPeers.exchange(a, b) }
    private func rows(_ log: ChangeLog, _ table: String = "note") throws -> [[SQLValue]] { try ChangeLogPeers.rows(log, table) }
    private func error(_ body: () throws -> Void) -> DatabaseError? { ChangeLogPeers.error(body) }

    // MARK: Clocks

    @Test func changesFromFastClockAreRefusedUntilRepaired() throws {
        let a = try peer("a"), b = try peer("b"), year = 365.0 * 86_400
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1)") }
        try exchange(a, b)
        a.now = { Date(timeIntervalSinceNow: year) }
        try a.write { try $0.execute(SQLScript("UPDATE note SET title = 'ahead' WHERE id = 'n'; DELETE FROM note WHERE id = 'm'; INSERT INTO note VALUES ('o', 2, 2)")) }
        let before = try rows(b)
        let found = error { try b.receive(try a.changes(since: try b.position)) }
        #expect(found?.code == .abort && found?.message.contains(" hours ahead of this device's clock") == true, "\(String(describing: found))")
        #expect(try rows(b) == before)
        // With the clock right again, the log is mended, and both go on.
        a.now = { Date() }
        #expect(try a.repairClock() == 3)
        #expect(try a.repairClock() == 0)
        try b.write { try $0.execute("UPDATE note SET body = 'b' WHERE id = 'n'") }
        try exchange(a, b)
        #expect(try rows(a) == [["n", "ahead", "b"], ["o", 2, 2]])
        #expect(try rows(b) == rows(a))
        try a.write { try $0.execute("UPDATE note SET title = 'later' WHERE id = 'n'") }
        try exchange(a, b)
        #expect(try rows(b) == [["n", "later", "b"], ["o", 2, 2]])
    }

    /// A clock that is slow counts on from the last entry that was seen. So a copy that was restored from a backup writes the same
    /// numbers at the same times again.
    @Test func entriesWithEqualNumberAndTimeAreDistinguished() throws {
        let a = try peer("a"), b = try peer("b"), copy = try Connection(.memory, key: .passphrase("x").quick)
        let slow: () -> Date = { Date(timeIntervalSinceNow: -3600) }
        a.now = slow
        try b.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        try exchange(a, b)
        try a.connection.main.backup(to: copy.main)
        try a.write { try $0.execute("UPDATE note SET title = 'first'") }
        try exchange(a, b)
        let restored = try ChangeLog(copy, tables: ["note", "pair"], localPeer: "a")
        restored.now = slow
        try restored.write { try $0.execute("UPDATE note SET title = 'second', body = 'second'") }
        let (first, second) = try (#require(a.position.marks["a"]), #require(restored.position.marks["a"]))
        #expect(first.sequence == second.sequence && first.clock == second.clock && first != second)
        for message in [try restored.changes(), try restored.snapshot()] { #expect(error { try b.receive(message) }?.reason == .misuse) }
        #expect(error { _ = try restored.changes(since: b.position) }?.reason == .copyRestored)
        #expect(error { _ = try b.changes(since: restored.position) }?.reason == .misuse)
        #expect(try rows(b) == [["n", "first", 1]])
        // The entry is logged again after the other entry.
        try restored.resolveRestore(.takingOthers)
        #expect(try restored.receive(try b.changes()).renewed == 1)
        try exchange(restored, b)
        #expect(try rows(b) == [["n", "second", "second"]])
        #expect(try rows(restored) == rows(b))
    }

    /// The entries before the entries with wrong times may have been pruned.
    @Test func repairClockWorksAfterPruning() throws {
        let a = try peer("a"), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        try exchange(a, b)
        #expect(try a.prune() == 1)
        a.now = { Date(timeIntervalSinceNow: 1e8) }
        try a.write { try $0.execute("UPDATE note SET title = 2") }
        a.now = { Date() }
        #expect(try a.repairClock() == 1)
        try exchange(a, b)
        #expect(try rows(b) == [["n", 2, 1]])
    }

    /// Messages at random: if one peer takes an entry, each other peer takes it from that peer.
    @Test func mutatedMessagesAreAcceptedByAllPeersOrNone() throws {
        var random = SeededGenerator()
        let sender = try peer("s")
        for number in 0..<20 { try sender.write { try $0.execute("INSERT INTO note VALUES (\("k\(number)"), \(number), 1)") } }
        let data = try sender.changes().data
        var taken = 0
        for _ in 0..<(LongTests.areOn ? 5_000 : 150) {
            var bytes = data
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let message = try? ChangeLog.Message(data: bytes) else { continue }
            let first = try peer("first")
            guard (try? first.receive(message)) != nil else { continue }
            taken += 1
            try first.write { try $0.execute("INSERT OR REPLACE INTO note VALUES ('own', 1, 1)") }
            let second = try peer("second")
            try second.receive(try first.changes(since: try second.position))
            #expect(try rows(second) == rows(first) && rows(second, "pair") == rows(first, "pair"), "\(bytes.base64EncodedString())")
        }
        #expect(taken > 0)
    }

    /// Values that no copy can write, or not as the others do, are refused by all, whatever they have.
    @Test func messagesWithUnwritableValuesThrow() throws {
        let a = try peer("a")
        try a.write { try $0.execute("INSERT INTO pair VALUES (0, 'p', 1.5)") }
        let data = try a.changes().data
        for (old, new) in [([1, 6, 0x70], [0, 6, 0x70]), ([0, 0, 0xf8, 0x3f], [0, 0, 0xf8, 0x7f])] as [([UInt8], [UInt8])] {
            var other = data
            other.replaceSubrange(try #require(data.range(of: Data(old))), with: Data(new))
            #expect(error { _ = try ChangeLog.Message(data: other) }?.code == .corrupt)
        }
    }

    /// A message of a version before the first release, which fuzzing had found.
    @Test func messageOfAnotherVersionThrows() throws {
        let message = try peer("a").changes().data
        for version in ["1", "6", "8"] {
            let found = error { _ = try ChangeLog.Message(data: Data("SCKlog\(version)".utf8) + message.dropFirst(7)) }
            #expect(found?.code == .corrupt && found?.message.contains("another version") == true)
        }
        #expect(error { _ = try ChangeLog.Message(data: Data("SCKlo".utf8)) }?.message.contains("not a message") == true)
        #expect(try ChangeLog.Message(data: message).isEmpty)
    }

    /// The entries and records of another version would be read as others.
    @Test func changeLogOfAnotherVersionThrows() throws {
        for change in ["UPDATE changelog_state SET value = 6 WHERE name = 'format'", "DELETE FROM changelog_state WHERE name = 'format'"] {
            let log = try peer("a"), db = log.connection
            try log.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
            try db.execute(SQL(raw: change))
            try db.execute("CREATE TABLE other(id)")
            let found = error { _ = try ChangeLog(db, tables: ["note", "pair"], localPeer: "a") }
            #expect(found?.code == .schema && found?.message.contains("delete(from:)") == true)
            try ChangeLog.delete(from: db)
            #expect(try ChangeLog(db, tables: ["note", "pair"], localPeer: "a").changes().isEmpty && rows(log).count == 1)
        }
    }

    @Test func outOfRangeChangeLogPositionThrows() throws {
        for (sequence, clock) in [(Int64.min, Int64(1)), (0, 1), (1 << 40, 1), (1, -1), (1, .max)] {
            let text = #"{"marks":{"a":{"sequence":\#(sequence),"clock":\#(clock),"identity":1}}}"#
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(ChangeLog.Position.self, from: Data(text.utf8)) }
        }
    }

    // MARK: The log's own tables

    /// Unreadable settings are an error, and not taken for missing. Opening the log, which says the same, replaces it.
    @Test(arguments: ["x", "{}", "[]", "{\"peer\":\"a\"}"]) func damagedChangeLogSettingsThrow(_ text: String) throws {
        let log = try peer("a"), db = log.connection
        #expect(try ChangeLog.settings(in: db)?.tables == ["note", "pair"])
        try db.execute("UPDATE changelog_state SET value = \(Data(text.utf8)) WHERE name = 'settings'")
        #expect(error { _ = try ChangeLog.settings(in: db) }?.code == .corrupt)
        let again = try ChangeLog(db, tables: ["note", "pair"], localPeer: "a")
        try again.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        #expect(try ChangeLog.settings(in: db)?.localPeer == "a")
        // A log with rules is opened without being written.
        let rules: [String: ChangeLog.MergePolicy] = ["note": .row, "pair": .row]
        _ = try ChangeLog(db, tables: ["note", "pair"], localPeer: "a", mergePolicies: rules)
        let changes = db.totalChanges
        for _ in 0..<5 { _ = try ChangeLog(db, tables: ["note", "pair"], localPeer: "a", mergePolicies: rules) }
        #expect(try db.totalChanges == changes && ChangeLog.settings(in: db)?.mergePolicies == rules)
    }

    /// A connection remembers the log that it has opened, and opens it from scratch if anything has changed since.
    @Test func reopenedChangeLogFollowsLaterChanges() throws {
        let folder = try TemporaryFolder(), location = DatabaseLocation.file(folder.path("a.db"))
        let db = try peer("a", location).connection
        func open(_ rules: [String: ChangeLog.MergePolicy], _ db: Connection) throws -> ChangeLog {
            try ChangeLog(db, tables: ["note", "pair"], localPeer: "a", mergePolicies: rules)
        }
        func check(_ log: ChangeLog) throws {
            let id = UUID().uuidString
            try log.write { try $0.execute("INSERT INTO note VALUES (\(id), 1, 1)") }
            try log.connection.execute("UPDATE note SET title = 2 WHERE id = \(id)")
            #expect(try log.logOutsideChanges() == 1)
        }
        for _ in 0..<3 { try check(open([:], db)) }
        let other = try Connection(location, key: .passphrase("x").quick)
        try other.execute("DROP TRIGGER changelog_outside_note_update")
        try check(open([:], db))
        try other.execute("ALTER TABLE note ADD COLUMN stars DEFAULT 0")
        try open([:], db).write { try $0.execute("UPDATE note SET stars = 1") }
        for rules in [["note": ChangeLog.MergePolicy.row], [:], ["note": .row]] {
            for db in [db, other, db] {
                _ = try open(rules, db)
                #expect(try ChangeLog.settings(in: other)?.mergePolicies == rules)
            }
        }
        try ChangeLog.delete(from: other)
        let begun = try open([:], db)
        try begun.write { try $0.execute("DELETE FROM note") }
        #expect(try begun.changes().count == 1)
        // Another copy's log is not taken for this copy's log.
        try begun.add(peer: "b")
        _ = try ChangeLog(other, tables: ["note", "pair"], localPeer: "b")
        #expect(error { _ = try open([:], db) }?.reason == .misuse)
        // A log whose opening was rolled back is not open.
        let fresh = try Connection(.memory)
        try fresh.execute(ChangeLogPeers.schema)
        for _ in 0..<3 {
            _ = try? fresh.transaction { _ in
                _ = try open([:], fresh)
                _ = try open([:], fresh)
                throw CancellationError()
            }
        }
        #expect(try ChangeLog.settings(in: fresh) == nil)
        for _ in 0..<3 { try check(open([:], fresh)) }
    }

    /// Numbers that no log writes are an error, whichever call meets them first.
    @Test(arguments: [
        "UPDATE changelog_peer SET sequence = ? WHERE origin <> ''", "UPDATE changelog_peer SET clock = ? WHERE origin <> ''",
        "INSERT OR REPLACE INTO changelog_state VALUES ('clock', ?)", "INSERT OR REPLACE INTO changelog_state VALUES ('horizon', ?)",
        "UPDATE changelog_name SET id = ? WHERE id = 1", "UPDATE changelog_name SET id = ? WHERE id = 2",
    ], [Int64.min, -1, .max])
    func outOfRangeChangeLogNumbersThrow(_ sql: String, _ number: Int64) throws {
        let b = try peer("b")
        try b.write { try $0.execute("INSERT INTO note VALUES ('b', 1, 1)") }
        let calls: [(ChangeLog) throws -> Void] = [
            { log in try log.write { try $0.execute("UPDATE note SET title = 2") } }, { _ = try $0.changes() }, { _ = try $0.snapshot() },
            { try $0.receive(b.changes()) }, { try $0.receive(b.snapshot()) }, { try $0.prune(gracePeriod: .zero) }, { try $0.repairClock() },
            { try $0.addExistingRows() },
        ]
        var errors: [DatabaseError] = []
        for call in calls {
            let a = try peer("a")
            try a.write { try $0.execute("INSERT INTO note VALUES ('m', 1, 1)") }
            try exchange(a, try peer("c"))
            try a.prune()
            try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
            try a.connection.execute(SQL(raw: sql, [number]))
            do { try call(a) } catch let error as DatabaseError { errors.append(error) }
        }
        #expect(errors.count { $0.code == .corrupt } > 1, "\(errors)")
    }

    /// Values of each form that the log's bytes have arrive as they were, in a key and beside it.
    @Test func changeLogValuesArriveUnchanged() throws {
        let uuid = "0123abcd-4567-89ef-0123-456789abcdef"
        var texts = ["", "x", "a\0b", "é", String(repeating: "long", count: 9000), uuid, uuid.uppercased(), uuid + " "]
        texts += ["0123ABcd" + uuid.dropFirst(8), "01234567-0123-0123-0123-012345678901", uuid.replacing("-", with: "a")]
        texts += ["0123abc-d" + uuid.dropFirst(9), "0123abcg" + uuid.dropFirst(8), "------------------------------------"]
        var numbers = [0, 1, -1, 63, 64, Int64.min, .min + 1, .max]
        for bits in 58...62 { for near: Int64 in [-1, 0, 1] { numbers += [(1 << Int64(bits)) + near, -(1 << Int64(bits)) + near] } }
        let blobs = [Data(), Data([0]), Data(uuid.utf8), Data(repeating: 7, count: 300)]
        let reals = [0, -0.0, 1.5, .infinity, -.infinity, .leastNonzeroMagnitude, 1e300]
        let values: [SQLValue] = [.null] + texts.map { .text($0) } + numbers.map { .integer($0) } + blobs.map { .blob($0) }
            + reals.map { .real($0) }
        let schema: SQL = "CREATE TABLE bare(key BLOB PRIMARY KEY, a, b)"
        let (a, b) = (try Connection(.memory), try Connection(.memory))
        for db in [a, b] { try db.execute(schema) }
        let from = try ChangeLog(a, tables: ["bare"], localPeer: "a"), to = try ChangeLog(b, tables: ["bare"], localPeer: "b")
        for value in values where value != .null {
            try from.write { try $0.execute("INSERT OR REPLACE INTO bare VALUES (\(value), \(value), 1)") }
        }
        try from.write { db in
            for value in values { try db.execute("UPDATE bare SET b = \(value) WHERE a IS \(value)") }
            try db.execute("INSERT INTO bare VALUES ('null', NULL, NULL)")
        }
        try from.write { try $0.execute("DELETE FROM bare WHERE rowid % 3 = 0") }
        func rows(_ db: Connection) throws -> Set<[SQLValue]> {
            Set(try db.fetchAll(OwnedRow.self, "SELECT *, typeof(key), hex(key) FROM bare").map(\.values))
        }
        #expect(try rows(a).count > 40)
        try to.receive(try ChangeLog.Message(data: from.changes(since: to.position).data))
        #expect(try rows(b) == rows(a))
        let other = try Connection(.memory)
        try other.execute(schema)
        let state = try ChangeLog.Message(data: from.snapshot().data)
        try ChangeLog(other, tables: ["bare"], localPeer: "c").receive(state)
        #expect(try rows(other) == rows(a))
        // The log's knowledge of each row is found by its key again.
        try from.write { try $0.execute("UPDATE bare SET a = 'again'") }
        try to.receive(try from.changes(since: to.position))
        #expect(try rows(b) == rows(a))
    }
}
