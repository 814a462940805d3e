import Foundation
import SQLCipherKit

/// Whole files: backups, checkpoints, key slots.
extension SoakSite {
    func backUp() async throws {
        let path = folder + "/b.db", key = try Self.key(1_000_000), isCompact = random(0..<2) == 0
        defer { try? FileManager.default.removeItem(atPath: path) }
        var options = Schema.BackupOptions()
        options.isCompact = isCompact
        try await pool.main.backup(toFileAt: path, key: key, options: options)
        let db = try Connection(.file(path), key: key)
        let odd = try db.fetchOne(Int.self, "SELECT count(*) FROM (SELECT 1 FROM t GROUP BY who, number HAVING count(*) <> 2)")
        expect(odd == 0, "a backup has half of a pair")
        let isIntact = try db.main.verify().isIntact
        expect(isIntact, "a backup is damaged")
        db.close()
        try await Task.sleep(for: .milliseconds(500))
    }

    func checkpoint() async throws {
        try await Task.sleep(for: .milliseconds(random(1..<400)))
        let mode: CheckpointMode = [.passive, .full, .restart, .truncate][random(0..<4)]
        _ = try await pool.main.checkpoint(mode, timeout: .seconds(1))
    }

    /// Changes the slots of a second database, and opens it with each secret that should open it.
    func changeSlots() async throws {
        let location = DatabaseLocation.file(slotsPath), quick = KeySlots.Derivation.pbkdf2(iterations: 1000)
        var slots = try KeySlots.unlock(.passphrase("one"), of: location)
        try slots.add(.passphrase("two"), label: "second", derivation: quick)
        try slots.changePassphrase("second", from: .passphrase("two"), to: .passphrase("three"))
        let db = try Connection(location, key: .slots(secret: .passphrase("three")))
        try db.execute("CREATE TABLE IF NOT EXISTS t(x)")
        try db.execute("INSERT INTO t VALUES (1)")
        try db.execute("DELETE FROM t WHERE rowid < (SELECT max(rowid) FROM t) - 50")
        if random(0..<5) == 0 {
            try slots.rotateKey(of: db, keeping: ["first": .passphrase("one")], droppingOthers: true)
        } else {
            try slots.revoke("second")
        }
        db.close()
        do {
            _ = try Connection(location, key: .slots(secret: .passphrase("three")))
            found("a slot that was revoked opens")
        } catch let error as DatabaseError {
            // A pattern with a condition makes Swift 6.3's compiler hang here, where the error's type is known.
            if error.reason != .noSlotOpens { throw error }
        }
        expect(try slots.slots().count == 1, "slots remain")
        try await Task.sleep(for: .milliseconds(100))
    }
}
