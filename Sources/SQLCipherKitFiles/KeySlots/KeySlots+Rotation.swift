import SQLCipherKitCore

extension KeySlots {
    /// Gives the database a new random key. This rewrites the database and its slots.
    ///
    /// Use this if the key itself may be known, for example to a revoked user with a copy of the slots. Wrapping the new key for a
    /// slot requires the slot's secret, so pass the secret of each slot to keep; the others are removed.
    /// ```swift
    /// try slots.rotateKey(of: db, keeping: ["laptop": .passphrase("correct horse")], droppingOthers: true)
    /// let recovery = try slots.addRecoveryKey(label: "safe")
    /// ```
    /// While the database is rewritten, the slots hold the new key, with the old key wrapped under it: if the process dies at any
    /// time, the kept slots still open the database. All other connections must be closed. With ``Schema/KeyChangeMode/newFile``,
    /// `db` is closed afterwards, and ``DatabaseKey/slots(_:cipher:)`` opens the database with these slots; with
    /// ``Schema/KeyChangeMode/inPlace`` `db` stays open.
    /// - Parameters:
    ///   - db: a connection to the database.
    ///   - kept: the secrets of the slots to keep, by label.
    ///   - droppingOthers: whether to remove the slots that are not named; if false, slots that are not named are an error.
    ///   - derivation: how the keys of the kept slots are derived; nil means the same as in
    ///     ``changePassphrase(_:from:to:derivation:)``.
    ///   - mode: how the database is rewritten. Default: with a new file, which replaces the old file when it is complete.
    ///   - progress: called from time to time during the rewrite; if it throws, the database and the slots stay as they were.
    /// - Throws: ``DatabaseError/Reason/misuse`` if no slot is kept, if a slot is not named without `droppingOthers`, or if `db`
    ///   belongs to another database; ``DatabaseError/Reason/noSlotOpens`` for a wrong secret; and the
    ///   errors of ``Connection/changeKey(to:mode:progress:)``. The slots are then as before.
    public mutating func rotateKey(
        of db: Connection, keeping kept: [String: Secret], droppingOthers: Bool = false, derivation: Derivation? = nil,
        mode: Schema.KeyChangeMode = .newFile, progress: DatabaseProgress.Handler? = nil
    ) throws {
        try derivation?.validate()
        guard !kept.isEmpty else { throw DatabaseError.misuse("without a key slot, the database could no longer be opened") }
        let path = try Self.path(of: location)
        guard let other = db.location.path, DatabaseFile.isSame(other, path) else {
            throw DatabaseError.misuse("the connection does not belong to the database of the key slots")
        }
        let before = self
        let new = try Self.randomKey()
        try storage.update { bytes, write in
            let old = try before.verified(bytes)
            try before.check(old, on: db.main, updates: true)
            let left = old.slots.map(\.label).filter { !kept.keys.contains(text: $0) }
            guard left.isEmpty || droppingOthers else {
                throw DatabaseError.misuse(
                    "the secrets of these key slots are needed to give them the new key: \(left.joined(separator: ", "))")
            }
            var table = old
            table.slots = []
            for (label, secret) in kept {
                let slot = old.slots[try old.index(of: label)]
                guard slot.kind == secret.kind, try slot.open(with: secret, file: old.id) != nil else {
                    throw Self.wrongSecret(label, secret)
                }
                table.slots.append(
                    try SlotRecord(
                        wrapping: new, for: secret, label: label, derivation: derivation ?? slot.derivation.renewed, file: old.id,
                        id: slot.id, created: slot.created))
            }
            table.slots.sort { ($0.created, $0.label) < ($1.created, $1.label) }
            try table.setPrevious(before.key, under: new)
            try table.advance(under: new)
            try write(try table.bytes(under: new))
            do { try before.replaceKey(of: db, by: new, &table, mode, progress, write) } catch {
                // The old key still opens the database: restore the old slots, with a number that the database accepts.
                if let probe = try? before.connect() {
                    probe.close()
                    var restored = table
                    (restored.slots, restored.previous) = (old.slots, nil)
                    if let earlier = try old.previousKey(under: before.slotKey) {
                        try restored.setPrevious(earlier, under: before.slotKey)
                    }
                    try restored.advance(under: before.slotKey)
                    try write(try restored.bytes(under: before.slotKey))
                }
                throw error
            }
        }
        (key, slotKey, isRotationUnfinished) = (new.with(cipher: settings.cipher), new, false)
    }

    /// Gives the database the key that the slots, already written, hold; then removes the old key from them.
    func replaceKey(
        of db: Connection, by new: DatabaseKey, _ table: inout SlotTable, _ mode: Schema.KeyChangeMode,
        _ progress: DatabaseProgress.Handler?, _ write: ([UInt8]) throws -> Void
    ) throws {
        try db.main.replaceKey(by: new, mode, progress)
        // If the disk does not have the new key yet, the slots keep the old one.
        if db.isOpen { guard (try? db.main.makeDurable()) != nil else { return } }
        // The database has the new key, and the slots hold it. If removing the old one fails, the next opening does it.
        table.previous = nil
        guard (try? table.advance(under: new)) != nil, let bytes = try? table.bytes(under: new), (try? write(bytes)) != nil else {
            return
        }
        let rewritten = if db.isOpen { db } else { try? connect(new) }
        guard let schema = rewritten?.main, (try? schema.setSlotMark(table)) != nil else { return }
        noteSeen(table, by: schema, under: new, write)
    }
}
