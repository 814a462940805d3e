import SQLCipherKitCore

extension KeySlots {
    /// Adds a slot.
    /// ```swift
    /// try slots.add(.passphrase("battery staple"), label: "desktop")
    /// ```
    /// - Parameters:
    ///   - secret: the passphrase or recovery key that opens the slot.
    ///   - label: the slot's name, which no other slot may have: 1 to 200 bytes in UTF-8, without control characters.
    ///   - derivation: how the slot's key is derived, which determines the cost of an attempt.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a label that is already in use or a number out of range, or if there
    ///   are already 32 slots; ``DatabaseError/Reason/busy``; ``DatabaseError/Reason/keySlotsDamaged``;
    ///   ``DatabaseError/Reason/keySlotsRolledBack``. Nothing has changed then.
    public func add(_ secret: Secret, label: String, derivation: Derivation = .standard) throws(DatabaseError) {
        try Self.validate(label: label)
        try derivation.validate()
        // Before taking the lock, because key derivation is slow.
        let slot = try SlotRecord(wrapping: slotKey, for: secret, label: label, derivation: derivation, file: id)
        try edit { table throws(DatabaseError) in
            guard !table.slots.contains(where: { $0.label.isSameText(as: label) }) else {
                throw .invalidArgument("there is a key slot labelled \(label) already")
            }
            guard table.slots.count < Self.maximumSlots else {
                throw .invalidArgument("there are already \(Self.maximumSlots) key slots, which is the maximum")
            }
            table.slots.append(slot)
        }
    }

    /// Adds a slot for a new random recovery key, and returns that key. It is not stored anywhere else.
    /// - Throws: what ``add(_:label:derivation:)`` throws.
    public func addRecoveryKey(label: String, derivation: Derivation = .standard) throws(DatabaseError) -> RecoveryKey {
        let key = try RecoveryKey()
        try add(.recoveryKey(key), label: label, derivation: derivation)
        return key
    }

    /// Removes a slot. Its secret no longer opens the database.
    ///
    /// Revocation is not retroactive: anyone with the secret and a copy of the earlier slots can still get the key of the database.
    /// To prevent that as well, give the database a new key with
    /// ``rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if no slot has that label; ``DatabaseError/Reason/misuse`` for the last
    ///   slot, without which nothing could open the database; and as ``add(_:label:derivation:)``.
    public func revoke(_ label: String) throws(DatabaseError) {
        try edit { table throws(DatabaseError) in
            let index = try table.index(of: label)
            guard table.slots.count > 1 else {
                throw .misuse("the slot \(label) is the last one: without it nothing could open the database")
            }
            table.slots.remove(at: index)
        }
    }

    /// Changes the passphrase of a slot. The database is not rewritten.
    /// ```swift
    /// try slots.changePassphrase("laptop", from: .passphrase("correct horse"), to: .passphrase("battery staple"))
    /// ```
    /// - Parameters:
    ///   - label: the slot's label.
    ///   - old: the secret that opens the slot now.
    ///   - new: the secret that opens it from now on.
    ///   - derivation: how the slot's key is derived. Nil keeps the slot's derivation if it is not a former standard, and uses
    ///     ``KeySlots/Derivation/standard`` otherwise.
    /// - Throws: ``DatabaseError/Reason/noSlotOpens`` if `old` does not open the slot; ``DatabaseError/Reason/busy`` also if
    ///   another caller has changed the slot in the meantime; and as ``add(_:label:derivation:)``.
    public func changePassphrase(
        _ label: String, from old: Secret, to new: Secret, derivation: Derivation? = nil
    ) throws(DatabaseError) {
        try DatabaseError.typed {
            try derivation?.validate()
            let table = try verified(try storage.read())
            let slot = table.slots[try table.index(of: label)]
            guard slot.kind == old.kind, try slot.open(with: old, file: id) != nil else { throw Self.wrongSecret(label, old) }
            let changed = try SlotRecord(
                wrapping: slotKey, for: new, label: label, derivation: derivation ?? slot.derivation.renewed, file: id, id: slot.id,
                created: slot.created)
            try edit { table throws(DatabaseError) in
                let index = try table.index(of: label)
                guard table.slots[index] == slot else {
                    throw DatabaseError(
                        code: .busy, reason: .busy, message: "the slot \(label) has been changed by another caller in the meantime")
                }
                table.slots[index] = changed
            }
        }
    }

    static func wrongSecret(_ label: String, _ secret: Secret) -> DatabaseError {
        DatabaseError(
            code: .authorization, reason: .noSlotOpens,
            message: "the slot \(label) does not open with the \(secret.kind) given for it")
    }

    /// Changes the table that is stored now, under the lock that keeps others from changing it.
    /// - Parameter accepts: whether to continue with slots that are not the latest.
    func edit(accepting accepts: Bool = false, _ change: (inout SlotTable) throws(DatabaseError) -> Void) throws(DatabaseError) {
        try DatabaseError.typed {
            try storage.update { bytes, write in
                var table = try verified(bytes)
                let db = try connect()
                defer { db?.close() }
                var seen = 0
                if let db {
                    // What the database knows before the slots change must still be known after a crash.
                    if !accepts { try check(table, on: db.main, updates: true) }
                    // The database's lock first: once the slots are written, its mark must follow.
                    try db.begin(.immediate)
                    if !accepts { try check(table, on: db.main, updates: false) }
                    seen = try db.main.slotMark()?.generation ?? 0
                    table.isForNewDatabase = false
                } else if accepts {
                    table.isForNewDatabase = true
                }
                try change(&table)
                try table.advance(beyond: seen, under: slotKey)
                try db?.main.setSlotMark(table)
                try write(try table.bytes(under: slotKey))
                // From here on the change is in effect. If the mark is lost, the next opening sets it.
                try? db?.commit()
            }
        }
    }
}
