extension KeySlots {
    /// Adds a slot.
    /// ```swift
    /// try slots.add(.passphrase("battery staple"), label: "desktop")
    /// ```
    /// - Parameters:
    ///   - secret: what opens it.
    ///   - label: its name, which no other slot has: 1 to 200 bytes in UTF-8, without control characters.
    ///   - derivation: how its key is derived, and so what an attempt at it costs.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a label that is taken or a number out of range, or when there are
    ///   ``maximumSlots``; ``DatabaseError/Reason/busy``; ``DatabaseError/Reason/keySlotsDamaged``,
    ///   ``DatabaseError/Reason/keySlotsRolledBack``. Nothing has changed then.
    public func add(_ secret: SlotSecret, label: String, derivation: SlotDerivation = .standard) throws {
        try Self.validate(label: label)
        try derivation.validate()
        // Before the lock is taken: key derivation is slow.
        let slot = try SlotRecord(wrapping: slotKey, for: secret, label: label, derivation: derivation, file: id)
        try edit { table throws(DatabaseError) in
            guard !table.slots.contains(where: { $0.label.isSameText(as: label) }) else {
                throw .invalidArgument("there is a key slot labelled \(label) already")
            }
            guard table.slots.count < Self.maximumSlots else {
                throw .invalidArgument("there are \(Self.maximumSlots) key slots already, the largest number")
            }
            table.slots.append(slot)
        }
    }

    /// Adds a slot for a new random recovery key, and gives that key: it is kept nowhere else.
    /// - Throws: what ``add(_:label:derivation:)`` throws.
    public func addRecoveryKey(label: String, derivation: SlotDerivation = .standard) throws -> RecoveryKey {
        let key = try RecoveryKey()
        try add(.recoveryKey(key), label: label, derivation: derivation)
        return key
    }

    /// Removes a slot. Its secret no longer opens the database.
    ///
    /// Revocation is not retroactive: with a copy of the earlier slots and the secret, the key of the database can still be found.
    /// To shut that out as well, give the database a new key with
    /// ``rotateKey(of:keeping:droppingOthers:derivation:mode:progress:)``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is no slot of that label; ``DatabaseError/Reason/misuse`` for
    ///   the last one, without which nothing could open the database; and as ``add(_:label:derivation:)``.
    public func revoke(_ label: String) throws {
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
    ///   - label: the slot.
    ///   - old: what opens it now.
    ///   - new: what opens it from now on.
    ///   - derivation: how its key is derived; nil for ``SlotDerivation/standard``, unless the slot has its own.
    /// - Throws: ``DatabaseError/Reason/noSlotOpens`` if `old` does not open the slot;
    ///   ``DatabaseError/Reason/busy`` as well if the slot has been changed by another caller meanwhile; and as
    ///   ``add(_:label:derivation:)``.
    public func changePassphrase(
        _ label: String, from old: SlotSecret, to new: SlotSecret, derivation: SlotDerivation? = nil
    ) throws {
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
                    code: .busy, reason: .busy, message: "the slot \(label) has been changed by another caller meanwhile")
            }
            table.slots[index] = changed
        }
    }

    static func wrongSecret(_ label: String, _ secret: SlotSecret) -> DatabaseError {
        DatabaseError(
            code: .authorization, reason: .noSlotOpens,
            message: "the slot \(label) does not open with the \(secret.kind) given for it")
    }

    /// Changes the table as it is stored now, under the lock that keeps others from changing it.
    /// - Parameter accepts: whether slots that are not the latest are gone on with.
    func edit(accepting accepts: Bool = false, _ change: (inout SlotTable) throws(DatabaseError) -> Void) throws {
        try storage.update { bytes, write in
            var table = try verified(bytes)
            let db = try connect()
            defer { db?.close() }
            var seen = 0
            if let db {
                // What the database knows before the slots change is known after a crash as well.
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
            // From here on the change counts. Should the mark get lost, the next opening sets it.
            try? db?.commit()
        }
    }
}
