import SQLCipherKitCore

extension DatabaseKey {
    /// A key from key slots: a passphrase or recovery key opens a slot, and the key in the slot opens the database.
    /// ```swift
    /// let db = try Connection(.file("notes.db"), key: .slots(secret: .passphrase("correct horse")))
    /// ```
    /// The slots are read when the database is opened. Opening throws the errors of
    /// ``KeySlots/unlock(_:of:at:preferredSlot:costLimit:memoryLimit:acceptingRollback:cipher:configuration:)``, and
    /// ``DatabaseError/Reason/keyRotationUnfinished`` if a rotation was interrupted and cannot be finished now, unless the access
    /// is read-only. To continue with the old key nevertheless, unlock the slots and open with ``slots(_:cipher:)``.
    /// - Parameters:
    ///   - place: where the slots are. Default: beside the database.
    ///   - secret: the passphrase or recovery key.
    ///   - label: the slot to try first.
    ///   - acceptsRollback: whether to accept slots or a database that are not the latest: see ``KeySlots/Rollback``.
    ///   - cipher: the database's cipher settings; nil for the settings of SQLCipher 4.
    public static func slots(
        _ place: KeySlots.Place = .beside, secret: KeySlots.Secret, preferredSlot label: String? = nil,
        acceptingRollback acceptsRollback: Bool = false, cipher: CipherConfiguration? = nil
    ) -> DatabaseKey {
        let place = if case .file(let path) = place { KeySlots.Place.file(Paths.absolute(path)) } else { place }
        let key = SlotsKey { location, cipher, configuration in
            let slots = try KeySlots.unlock(
                secret, of: location, at: place, preferredSlot: label, acceptingRollback: acceptsRollback, cipher: cipher,
                configuration: configuration)
            guard !slots.isRotationUnfinished || configuration.access == .readOnly else { throw unfinishedRotation(location) }
            return slots
        }
        return DatabaseKey(.deferred(key), cipher: cipher)
    }

    /// A key from key slots that are already unlocked.
    /// ```swift
    /// let slots = try KeySlots.create(.passphrase("correct horse"), label: "laptop", for: notes)
    /// let db = try Connection(notes, key: .slots(slots))
    /// ```
    /// Opening throws ``DatabaseError/Reason/misuse`` if the slots belong to the database at another path.
    /// - Parameters:
    ///   - slots: the slots of the database to open.
    ///   - cipher: the database's cipher settings; nil for the settings that the slots were created or unlocked with.
    public static func slots(_ slots: KeySlots, cipher: CipherConfiguration? = nil) -> DatabaseKey {
        let key = SlotsKey { location, _, configuration in
            let path = try KeySlots.path(of: location), own = try KeySlots.path(of: slots.location)
            guard DatabaseFile.isSame(path, own) else {
                throw DatabaseError.misuse("the key slots belong to the database \(own), not to \(path)")
            }
            if configuration.access == .readWriteCreate { try slots.requireDatabaseOrNew() }
            return slots
        }
        return DatabaseKey(.deferred(key), cipher: cipher)
    }
}

extension KeyProvider where Self == KeySource {
    /// The key from unlocked key slots.
    public static func slots(_ slots: KeySlots) -> KeySource { KeySource("key slots") { slots.key } }
}

private func unfinishedRotation(_ location: DatabaseLocation) -> DatabaseError {
    let path = location.path ?? location.name
    return DatabaseError(
        code: .busy, reason: .keyRotationUnfinished,
        message: "a change of the key of \(path) was interrupted, and another connection or a full disk prevents finishing it: "
            + "new data is encrypted under the old key. Close the other connections, or unlock the slots and "
            + "open with them",
        path: path)
}

private struct SlotsKey: DeferredKey {
    let unlock: @Sendable (DatabaseLocation, CipherConfiguration?, DatabaseConfiguration) throws -> KeySlots

    var kind: String { "slots" }

    func resolve(
        for location: DatabaseLocation, _ cipher: CipherConfiguration?, _ configuration: DatabaseConfiguration
    ) throws -> ResolvedKey {
        let slots = try unlock(location, cipher, configuration)
        return ResolvedKey(key: slots.key.with(cipher: cipher ?? slots.key.cipher)) { schema in
            schema.noteKeyHolder()
            // A new database does not know its slots yet.
            let isAccepted = try slots.acceptedRollback != nil && schema.isReadOnly
            if !isAccepted, try schema.slotMark() == nil { try slots.checkStanding(on: schema) }
        }
    }

    func resolveForNewFile() throws -> DatabaseKey {
        throw DatabaseError.misuse(
            "key slots hold the key of one database: give the new file a key, and create its own key slots "
                + "once it exists")
    }
}
