import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitMaintenance
import SQLCipherKitSearch
import Testing
import TestSupport

/// What used to let copies differ for good: clocks that are wrong, changes outside of the log, triggers that do not run.
@Suite struct ChangeLogDriftTests {
    private static let schema = SQLScript("""
        CREATE TABLE note(id TEXT PRIMARY KEY COLLATE NOCASE, title, body);
        CREATE TABLE pair(a INTEGER, b TEXT, c, PRIMARY KEY (a, b));
        """)

    private func peer(_ name: String, _ location: DatabaseLocation = .memory) throws -> ChangeLog {
        let db = try Connection(location, key: .passphrase("x").quick)
        if try !db.main.hasTable("note") { try db.execute(Self.schema) }
        return try ChangeLog(db, tables: ["note", "pair"], peer: name)
    }

    private func exchange(_ a: ChangeLog, _ b: ChangeLog) throws {
        for _ in 0..<2 {
            try b.receive(try a.changes(since: try b.position))
            try a.receive(try b.changes(since: try a.position))
        }
    }

    private func rows(_ log: ChangeLog, _ table: String = "note") throws -> [[SQLValue]] {
        try log.connection.fetchAll(RowCopy.self, SQL(raw: "SELECT * FROM \(table) ORDER BY 1, 2")).map(\.values)
    }

    private func error(_ body: () throws -> Void) -> DatabaseError? { #expect(throws: DatabaseError.self, performing: body) }

    // MARK: Clocks

    @Test func aClockFarAheadIsRefusedAndMended() throws {
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
    @Test func twoEntriesOfOneNumberAndTimeAreToldApart() throws {
        let a = try peer("a"), b = try peer("b"), copy = try Connection(.memory, key: .passphrase("x").quick)
        let slow: () -> Date = { Date(timeIntervalSinceNow: -3600) }
        a.now = slow
        try b.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        try exchange(a, b)
        try a.connection.main.backup(to: copy.main)
        try a.write { try $0.execute("UPDATE note SET title = 'first'") }
        try exchange(a, b)
        let restored = try ChangeLog(copy, tables: ["note", "pair"], peer: "a")
        restored.now = slow
        try restored.write { try $0.execute("UPDATE note SET title = 'second', body = 'second'") }
        let (first, second) = try (#require(a.position.marks["a"]), #require(restored.position.marks["a"]))
        #expect(first.sequence == second.sequence && first.clock == second.clock && first != second)
        for message in [try restored.changes(), try restored.wholeState()] { #expect(error { try b.receive(message) }?.reason == .misuse) }
        #expect(error { _ = try restored.changes(since: b.position) }?.reason == .misuse)
        #expect(error { _ = try b.changes(since: restored.position) }?.reason == .misuse)
        #expect(try rows(b) == [["n", "first", 1]])
        // Over a store, the entry is logged again after the other one.
        #expect(try restored.receive(try b.changes(), resolvesForks: true).renewed == 1)
        try exchange(restored, b)
        #expect(try rows(b) == [["n", "second", "second"]])
        #expect(try rows(restored) == rows(b))
    }

    /// What is before the entries with wrong times may have been pruned.
    @Test func aClockIsMendedAfterPruning() throws {
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

    /// Messages at random: what one peer takes, each other peer takes from it.
    @Test func whatOnePeerTakesAllTake() throws {
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
    @Test func valuesThatCannotBeWrittenAreRefused() throws {
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
    @Test func aMessageOfAnotherVersionIsRefused() throws {
        let message = try peer("a").changes().data
        for version in ["1", "5", "7"] {
            let found = error { _ = try ChangeLog.Message(data: Data("SCKlog\(version)".utf8) + message.dropFirst(7)) }
            #expect(found?.code == .corrupt && found?.message.contains("another version") == true)
        }
        #expect(error { _ = try ChangeLog.Message(data: Data("SCKlo".utf8)) }?.message.contains("not a message") == true)
        #expect(try ChangeLog.Message(data: message).isEmpty)
    }

    @Test func aPositionFromOutsideIsBounded() throws {
        for (sequence, clock) in [(Int64.min, Int64(1)), (0, 1), (1 << 40, 1), (1, -1), (1, .max)] {
            let text = #"{"marks":{"a":{"sequence":\#(sequence),"clock":\#(clock),"identity":1}}}"#
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(ChangeLog.Position.self, from: Data(text.utf8)) }
        }
    }

    // MARK: What the log keeps of itself

    /// What cannot be read is an error, and not taken for missing. Opening the log, which says the same, replaces it.
    @Test(arguments: ["x", "{}", "[]", "{\"peer\":\"a\"}"]) func damagedSettingsAreRefused(_ text: String) throws {
        let log = try peer("a"), db = log.connection
        #expect(try ChangeLog.settings(in: db)?.tables == ["note", "pair"])
        try db.execute("UPDATE changelog_state SET value = \(Data(text.utf8)) WHERE name = 'settings'")
        #expect(error { _ = try ChangeLog.settings(in: db) }?.code == .corrupt)
        let again = try ChangeLog(db, tables: ["note", "pair"], peer: "a")
        try again.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        #expect(try ChangeLog.settings(in: db)?.peer == "a")
        // A log with rules is opened without being written.
        let rules: [String: ChangeLog.Rule] = ["note": .row, "pair": .row]
        _ = try ChangeLog(db, tables: ["note", "pair"], peer: "a", rules: rules)
        let changes = db.totalChanges
        for _ in 0..<5 { _ = try ChangeLog(db, tables: ["note", "pair"], peer: "a", rules: rules) }
        #expect(try db.totalChanges == changes && ChangeLog.settings(in: db)?.rules == rules)
    }

    /// A connection remembers the log that it has opened, and opens it from scratch if anything has changed since.
    @Test func aLogIsOpenedAgainAsItIsNow() throws {
        let folder = try TemporaryFolder(), location = DatabaseLocation.file(folder.path("a.db"))
        let db = try peer("a", location).connection
        func open(_ rules: [String: ChangeLog.Rule], _ db: Connection) throws -> ChangeLog {
            try ChangeLog(db, tables: ["note", "pair"], peer: "a", rules: rules)
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
        for rules in [["note": ChangeLog.Rule.row], [:], ["note": .row]] {
            for db in [db, other, db] {
                _ = try open(rules, db)
                #expect(try ChangeLog.settings(in: other)?.rules == rules)
            }
        }
        try ChangeLog.delete(from: other)
        let begun = try open([:], db)
        try begun.write { try $0.execute("DELETE FROM note") }
        #expect(try begun.changes().count == 1)
        // Another copy's log is not taken for this one's.
        try begun.add(peer: "b")
        _ = try ChangeLog(other, tables: ["note", "pair"], peer: "b")
        #expect(error { _ = try open([:], db) }?.reason == .misuse)
        // What was rolled back was not opened.
        let fresh = try Connection(.memory)
        try fresh.execute(Self.schema)
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
        "UPDATE changelog_state SET value = ? WHERE name = 'clock'", "INSERT OR REPLACE INTO changelog_state VALUES ('horizon', ?)",
        "UPDATE changelog_name SET id = ? WHERE id = 1", "UPDATE changelog_name SET id = ? WHERE id = 2",
    ], [Int64.min, -1, .max])
    func numbersOutOfBoundsAreRefused(_ sql: String, _ number: Int64) throws {
        let b = try peer("b")
        try b.write { try $0.execute("INSERT INTO note VALUES ('b', 1, 1)") }
        let calls: [(ChangeLog) throws -> Void] = [
            { log in try log.write { try $0.execute("UPDATE note SET title = 2") } }, { _ = try $0.changes() }, { _ = try $0.wholeState() },
            { try $0.receive(b.changes()) }, { try $0.receive(b.wholeState()) }, { try $0.prune(patience: .zero) }, { try $0.repairClock() },
            { try $0.addExistingRows() },
        ]
        var errors: [DatabaseError] = []
        for call in calls {
            let a = try peer("a")
            try exchange(a, try peer("c"))
            try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
            try a.connection.execute(SQL(raw: sql, [number]))
            do { try call(a) } catch let error as DatabaseError { errors.append(error) }
        }
        #expect(errors.count { $0.code == .corrupt } > 1, "\(errors)")
    }

    /// Values of each form that the log's bytes have arrive as they were, in a key and beside it.
    @Test func eachValueArrivesAsItWas() throws {
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
        let from = try ChangeLog(a, tables: ["bare"], peer: "a"), to = try ChangeLog(b, tables: ["bare"], peer: "b")
        for value in values where value != .null {
            try from.write { try $0.execute("INSERT OR REPLACE INTO bare VALUES (\(value), \(value), 1)") }
        }
        try from.write { db in
            for value in values { try db.execute("UPDATE bare SET b = \(value) WHERE a IS \(value)") }
            try db.execute("INSERT INTO bare VALUES ('null', NULL, NULL)")
        }
        try from.write { try $0.execute("DELETE FROM bare WHERE rowid % 3 = 0") }
        func rows(_ db: Connection) throws -> Set<[SQLValue]> {
            Set(try db.fetchAll(RowCopy.self, "SELECT *, typeof(key), hex(key) FROM bare").map(\.values))
        }
        #expect(try rows(a).count > 40)
        try to.receive(try ChangeLog.Message(data: from.changes(since: to.position).data))
        #expect(try rows(b) == rows(a))
        let other = try Connection(.memory)
        try other.execute(schema)
        let state = try ChangeLog.Message(data: from.wholeState().data)
        try ChangeLog(other, tables: ["bare"], peer: "c").receive(state)
        #expect(try rows(other) == rows(a))
        // What the log knows of each row is found by its key again.
        try from.write { try $0.execute("UPDATE bare SET a = 'again'") }
        try to.receive(try from.changes(since: to.position))
        #expect(try rows(b) == rows(a))
    }

    // MARK: What was pruned

    private func write(_ log: ChangeLog, at seconds: TimeInterval, _ sql: SQL) throws {
        log.now = { Date(timeIntervalSince1970: 1_700_000_000 + seconds) }
        try log.write { try $0.execute(sql) }
    }

    /// A copy that has not waited for another one takes its rows and deletes from all rows of a third one.
    @Test func whatASilentPeerHasChangedIsNotTakenForDeleted() throws {
        let a = try peer("a"), b = try peer("b"), c = try peer("c")
        try write(a, at: 0, "INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1), ('both', 1, 1)")
        for (first, second) in [(a, b), (b, c), (a, c)] { try exchange(first, second) }
        try write(c, at: 10, "INSERT INTO note VALUES ('own', 'c', 'c')")
        try write(c, at: 11, "DELETE FROM note WHERE id = 'm'")
        try write(c, at: 12, "UPDATE note SET title = 'c', body = 'c' WHERE id = 'both'")
        try write(a, at: 20, "UPDATE note SET title = 'a' WHERE id = 'both'")
        try write(a, at: 21, "UPDATE note SET body = 'a' WHERE id = 'n'")
        #expect(try a.prune(patience: .zero) == 3)
        try exchange(b, c)
        #expect(try b.prune(patience: .zero) == 4)
        let outcome = try a.receive(try b.wholeState())
        #expect(outcome["note"]?.applied == 3 && outcome.renewed == 0)
        for log in [b, c] { try log.receive(try a.wholeState()) }
        for log in [a, b, c] { #expect(try rows(log) == [["both", "a", "c"], ["n", 1, "a"], ["own", "c", "c"]]) }
    }

    /// A row that another copy has not seen is not taken for one that it has deleted.
    @Test func whatAnotherCopyHasNotSeenIsNotMissing() throws {
        let a = try peer("a"), b = try peer("b")
        try write(a, at: 0, "INSERT INTO note VALUES ('both', 1, 1)")
        try exchange(a, b)
        try write(a, at: 10, "INSERT INTO note VALUES ('own', 1, 1)")
        try write(b, at: 20, "INSERT INTO note VALUES ('other', 1, 1)")
        try a.receive(try b.wholeState())
        #expect(try rows(a) == [["both", 1, 1], ["other", 1, 1], ["own", 1, 1]])
        try exchange(a, b)
        #expect(try rows(b) == rows(a))
    }

    /// A row that is older than what a copy has forgotten is logged again there: another one may know that it was deleted.
    @Test(arguments: [false, true]) func anOldRowOfAnUnknownPeerIsTheSameForAll(isWhole: Bool) throws {
        let a = try peer("a"), b = try peer("b"), d = try peer("d")
        try write(d, at: 0, "INSERT INTO note VALUES ('n', 'd', 'd')")
        try write(a, at: 10, "INSERT INTO note VALUES ('n', 'a', 'a')")
        try write(a, at: 11, "DELETE FROM note")
        try exchange(a, b)
        #expect(try a.prune() == 2)
        // One has forgotten the delete, and the other one knows of it.
        for log in [a, b] { try log.receive(isWhole ? try d.wholeState() : try d.changes()) }
        #expect(try rows(a).count == 1 && rows(b).isEmpty)
        for _ in 0..<2 {
            for (from, to) in [(a, b), (b, d), (d, a), (a, d), (b, a)] {
                let position = try to.position
                let message = try? from.changes(since: position)
                try to.receive(try message ?? from.wholeState())
            }
        }
        for log in [a, b, d] { #expect(try rows(log) == [["n", "d", "d"]]) }
    }

    /// A row is written as a whole by a copy that has not got a new column yet: by entries and by all rows it means the same.
    @Test(arguments: [false, true]) func aWholeRowWithoutAColumnHasItsDefault(isWhole: Bool) throws {
        func open(_ name: String) throws -> ChangeLog {
            let db = try Connection(.memory)
            try db.execute(Self.schema)
            return try ChangeLog(db, tables: ["note"], peer: name, rules: ["note": .row])
        }
        let a = try open("a"), b = try open("b")
        try write(a, at: 0, "INSERT INTO note VALUES ('n', 1, 1)")
        try exchange(a, b)
        try a.connection.execute("ALTER TABLE note ADD COLUMN stars DEFAULT 5")
        try write(a, at: 10, "UPDATE note SET stars = 9 WHERE id = 'n'")
        try write(b, at: 20, "UPDATE note SET title = 2 WHERE id = 'n'")
        try a.receive(isWhole ? try b.wholeState() : try b.changes(since: try a.position))
        #expect(try rows(a) == [["n", 2, 1, 5]])
    }

    /// A copy that is restored from a backup logs a change again whose row was deleted and forgotten meanwhile.
    @Test(arguments: [ChangeLog.Rule.column, .row]) func aRestoredCopyChangesADeletedRow(_ rule: ChangeLog.Rule) throws {
        func open(_ db: Connection, _ name: String) throws -> ChangeLog {
            try ChangeLog(db, tables: ["note", "pair"], peer: name, rules: ["note": rule])
        }
        let a = try open(try peer("a").connection, "a"), b = try open(try peer("b").connection, "b")
        let copy = try Connection(.memory, key: .passphrase("x").quick)
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1)") }
        try exchange(a, b)
        try a.connection.main.backup(to: copy.main)
        try a.write { try $0.execute("UPDATE note SET title = 2 WHERE id = 'n'") }
        try exchange(a, b)
        try b.write { try $0.execute("DELETE FROM note WHERE id = 'n'") }
        try exchange(a, b)
        try b.prune()
        #expect(try b.connection.fetchOne(Int.self, "SELECT count(*) FROM changelog_row") == 1)
        let restored = try open(copy, "a")
        try restored.write { try $0.execute("UPDATE note SET title = 3 WHERE id = 'n'") }
        #expect(try restored.receive(try b.wholeState(), resolvesForks: true).renewed == 1)
        #expect(try rows(restored) == [["m", 1, 1]])
        try restored.write { try $0.execute("INSERT INTO note VALUES ('n', 4, 4)") }
        try b.receive(try restored.wholeState())
        #expect(try rows(b) == [["m", 1, 1], ["n", 4, 4]])
    }

    // MARK: Changes outside

    private static let outside: [(SQLScript, Int)] = [
        (SQLScript("INSERT INTO note VALUES ('x', 1, 1)"), 1), (SQLScript("UPDATE note SET title = 2 WHERE id = 'n'"), 1),
        (SQLScript("DELETE FROM note"), 2), (SQLScript("UPDATE note SET id = 'z' WHERE id = 'n'"), 2),
        (SQLScript("UPDATE note SET id = 'N' WHERE id = 'n'"), 1), (SQLScript("INSERT OR REPLACE INTO note VALUES ('n', 9, 9)"), 1),
        (SQLScript("INSERT INTO note VALUES ('x', 1, 1); DELETE FROM note WHERE id = 'x'"), 0),
        (SQLScript("DELETE FROM note WHERE id = 'n'; INSERT INTO note VALUES ('n', 5, 5)"), 1),
        (SQLScript("INSERT INTO note VALUES ('x', 1, 1); CREATE UNIQUE INDEX i ON note(body, id); INSERT OR REPLACE INTO pair VALUES (1, 'p', 2)"), 2),
        (SQLScript("INSERT INTO pair VALUES (1, 'p', 2), (1, 'q', 2); UPDATE pair SET a = 2 WHERE b = 'q'"), 2),
    ]

    /// Each way to change a row, on the log's connection and on another one.
    @Test(arguments: outside.indices, [false, true])
    func changesOutsideAreNoticed(_ index: Int, isOther: Bool) throws {
        let folder = try TemporaryFolder()
        let location = DatabaseLocation.file(folder.path("a.db"))
        let a = try peer("a", location), b = try peer("b")
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 1, 1)") }
        try exchange(a, b)
        let (script, count) = Self.outside[index]
        let other = isOther ? try Connection(location, key: .passphrase("x").quick) : a.connection
        try other.execute(script)
        a.outsideChanges = .refused
        if count > 0 {
            for use in [{ _ = try a.changes() }, { try a.write { _ in } }, { _ = try a.receive(try b.changes()) }] as [() throws -> Void] {
                #expect(error(use)?.reason == .misuse)
            }
        }
        #expect(try a.logOutsideChanges() == count)
        #expect(try a.logOutsideChanges() == 0)
        try exchange(a, b)
        #expect(try rows(a) == rows(b) && rows(a, "pair") == rows(b, "pair"), "\(index)")
        // As a matter of course.
        a.outsideChanges = .logged
        try other.execute("UPDATE note SET body = 'outside'")
        try exchange(a, b)
        #expect(try rows(a) == rows(b))
    }

    /// What the log itself writes is no change outside, whatever runs.
    @Test func theLogsOwnChangesAreNotNoted() throws {
        let a = try peer("a"), b = try peer("b")
        a.outsideChanges = .refused
        b.outsideChanges = .refused
        b.triggers = .run
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 1, 1)") }
        _ = try? a.write { db in
            try db.execute("UPDATE note SET title = 2")
            throw CancellationError()
        }
        try exchange(a, b)
        #expect(try a.logOutsideChanges() == 0 && b.logOutsideChanges() == 0)
        try a.connection.execute("ALTER TABLE note RENAME TO paper")
        let again = try ChangeLog(a.connection, tables: ["paper", "pair"], peer: "a")
        try again.connection.execute("UPDATE paper SET title = 7")
        #expect(try again.logOutsideChanges() == 1)
        try ChangeLog.delete(from: a.connection)
        #expect(try a.connection.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'changelog%'") == 0)
    }

    /// A statement that was compiled while the log wrote, and triggers that were made then.
    @Test func statementsOfTheLogAreNoticedOutsideOfIt() throws {
        let a = try peer("a"), sql: SQL = "INSERT OR REPLACE INTO note VALUES ('n', 1, 1)"
        let statement = try a.connection.prepare("UPDATE note SET title = title + 1")
        try a.connection.execute("CREATE TABLE seen(id)")
        try a.write { db in
            try db.execute(sql)
            try db.execute("CREATE TRIGGER see AFTER INSERT ON note BEGIN INSERT INTO seen VALUES (new.id); END")
            try db.execute(sql)
            try statement.execute()
        }
        #expect(try a.connection.fetchOne(Int.self, "SELECT count(*) FROM seen") == 1)
        #expect(try a.logOutsideChanges() == 0)
        try a.connection.execute(sql)
        #expect(try a.logOutsideChanges() == 1)
        try statement.execute()
        #expect(try a.logOutsideChanges() == 1)
        _ = try? a.write { _ in
            try statement.execute()
            throw CancellationError()
        }
        try statement.execute()
        #expect(try a.logOutsideChanges() == 1)
    }

    private static let writers = [
        "INSERT INTO child VALUES (7, 1, 7)", "INSERT INTO child SELECT * FROM spare", "REPLACE INTO child VALUES (1, 1, 8)",
        "INSERT INTO child VALUES (1, 1, 1) ON CONFLICT DO UPDATE SET x = x + 1", "UPDATE child SET x = x + 1", "DELETE FROM child",
        "DELETE FROM child WHERE id = 1", "DELETE FROM parent", "UPDATE parent SET id = id + 10", "INSERT INTO source VALUES (9)",
        "WITH new(x) AS (SELECT 5) UPDATE child SET x = new.x FROM new RETURNING id", "INSERT INTO view_of_child VALUES (9)",
        "UPDATE OR REPLACE child SET id = 2 WHERE id = 1",
    ]

    /// Each kind of statement that writes to a logged table, compiled while the log wrote or not: the triggers run only outside.
    @Test(arguments: writers, [false, true]) func eachStatementIsNoticedOutsideOfTheLog(_ sql: String, isMadeInside: Bool) throws {
        for isWithoutRowID in [false, true] {
            let db = try Connection(.memory)
            try db.execute("CREATE TABLE parent(id INTEGER PRIMARY KEY)")
            let columns = "(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, x)"
            for name in ["child", "spare"] {
                try db.execute("CREATE TABLE \(raw: name)\(raw: columns) \(raw: isWithoutRowID ? "WITHOUT ROWID" : "")")
            }
            try db.execute(SQLScript("""
                CREATE TABLE source(x); CREATE TRIGGER spread AFTER INSERT ON source BEGIN UPDATE child SET x = new.x; END;
                CREATE VIEW view_of_child AS SELECT x FROM child;
                CREATE TRIGGER view_insert INSTEAD OF INSERT ON view_of_child BEGIN DELETE FROM child WHERE id = 1; END;
                """))
            let log = try ChangeLog(db, tables: ["parent", "child"], peer: "a")
            func begin() throws {
                try db.execute(SQLScript("""
                    DELETE FROM spare; DELETE FROM child; DELETE FROM parent; INSERT INTO parent VALUES (1);
                    INSERT INTO child VALUES (1, 1, 1), (2, 1, 2); INSERT INTO spare VALUES (5, 1, 5);
                    """))
                try log.logOutsideChanges()
            }
            try begin()
            var made: Statement?
            if isMadeInside { try log.write { made = try $0.prepare(SQL(raw: sql)) } } else { made = try db.prepare(SQL(raw: sql)) }
            let statement = try #require(made)
            for _ in 0..<2 {
                try statement.execute()
                #expect(try log.logOutsideChanges() > 0, "\(sql)")
                try begin()
                try log.write { _ in try statement.execute() }
                #expect(try log.logOutsideChanges() == 0, "\(sql)")
                try begin()
            }
        }
    }

    // MARK: Triggers

    /// The triggers of a full-text index run, and those of the user do not, with or without the others.
    @Test(arguments: [false, true], [false, true])
    func theTriggersOfIndexesRun(hasIndex: Bool, hasOwn: Bool) throws {
        let a = try peer("a"), b = try peer("b")
        if hasIndex {
            try b.connection.create(FTS5Table("note_fts", columns: ["title", "body"], content: .external(table: "note")))
        }
        if hasOwn {
            try b.connection.execute(SQLScript("""
                CREATE TABLE seen(id);
                CREATE TRIGGER see AFTER INSERT ON note BEGIN INSERT INTO seen VALUES (new.id); END;
                """))
        }
        try a.write { try $0.execute("INSERT INTO note VALUES ('n', 'fox', 'hen'), ('m', 'owl', 'bat')") }
        try exchange(a, b)
        try a.write { try $0.execute(SQLScript("UPDATE note SET title = 'elk' WHERE id = 'n'; DELETE FROM note WHERE id = 'm'")) }
        try exchange(a, b)
        if hasIndex {
            let index = try b.connection.fullText("note_fts")
            #expect(try index.isIntact())
            #expect(try index.search("elk").hits.count == 1 && index.search("fox").hits.isEmpty && index.search("owl").hits.isEmpty)
        }
        if hasOwn {
            #expect(try b.connection.fetchOne(Int.self, "SELECT count(*) FROM seen") == 0)
            try b.connection.execute("INSERT INTO note VALUES ('p', 1, 1)")
            #expect(try b.connection.fetchOne(Int.self, "SELECT count(*) FROM seen") == 1)
        }
        #expect(try rows(a) == rows(b).filter { $0[0] != "p" })
    }
}
