import CSQLCipher
import SQLCipherKitCore

extension KeySlots {
    /// Opens the slots of a database with a passphrase or a recovery key, and checks in the database whether they are up to date.
    ///
    /// If a rotation, or the creation of slots for a database with a passphrase, was interrupted, it is finished first, which
    /// rewrites the database. This is not done if the access is read-only.
    ///
    /// Slots of the secret's kind are tried in turn, the cheapest first, and each attempt costs a full key derivation: pass a
    /// `label` to try that slot first. A wrong secret and a damaged slot give the same error, which reveals nothing about a secret.
    /// - Parameters:
    ///   - secret: the passphrase or recovery key.
    ///   - location: the database, by its path.
    ///   - place: where the slots are. Default: beside the database.
    ///   - label: the slot to try first.
    ///   - costLimit: the limit for key derivation, in rounds of PBKDF2, which protects from malicious slots that would take hours.
    ///     A slot that costs more than the rest of the limit is skipped, and the other slots are still tried.
    ///   - memoryLimit: the maximum memory that Argon2id may take for a slot, in KiB, which protects from malicious slots that
    ///     would take all memory. A slot that needs more is skipped.
    ///   - acceptsRollback: whether to accept slots or a database that are not the latest. Unless the access is read-only,
    ///     accepting them makes them the latest. Check the error's ``KeySlots/Rollback`` first. Default: false.
    ///   - cipher: the database's cipher settings; nil for the settings of SQLCipher 4.
    ///   - configuration: only its access, busy timeout and treatment of links are used.
    /// - Throws: ``DatabaseError/Reason/noSlotOpens`` for a wrong secret, a damaged slot, or if the limit was reached before a slot
    ///   opened; ``DatabaseError/Reason/keySlotsDamaged``; ``DatabaseError/Reason/keySlotsRolledBack``, with a
    ///   ``KeySlots/Rollback`` that lists the effects; ``DatabaseError/Reason/cannotOpen`` if there are no slots;
    ///   and any error of opening the database.
    public static func unlock(
        _ secret: Secret, of location: DatabaseLocation, at place: Place = .beside, preferredSlot label: String? = nil,
        costLimit: Int = defaultCostLimit, memoryLimit: Int = defaultMemoryLimit, acceptingRollback acceptsRollback: Bool = false,
        cipher: CipherConfiguration? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws -> KeySlots {
        _ = try path(of: location)
        let storage = try storage(place, location, configuration)
        if configuration.access != .readOnly, let file = storage as? SlotFile {
            file.removeRemains()
            file.shareLock()
        }
        guard let bytes = try storage.read() else { throw missing(location) }
        let table = try SlotTable(parsing: bytes)
        let key = try open(table, bytes, secret, first: label, costLimit, memoryLimit)
        try table.authenticate(bytes, under: key)
        var slots = KeySlots(location, key, table, storage, Settings(configuration, cipher))
        try slots.settle(table, accepting: acceptsRollback)
        return slots
    }

    /// Returns the database key in the first slot that opens. Expensive and damaged slots are skipped, and the other slots are
    /// still tried.
    private static func open(
        _ table: SlotTable, _ bytes: [UInt8], _ secret: Secret, first label: String?, _ limit: Int, _ memoryLimit: Int
    ) throws -> DatabaseKey {
        let own = table.slots.filter { $0.kind == secret.kind }.sorted { $0.derivation.cost < $1.derivation.cost }
        let named = own.filter { slot in label.map { slot.label.isSameText(as: $0) } ?? false }
        var left = limit
        var passed: [String] = []
        for slot in named + own.filter({ !named.contains($0) }) {
            guard slot.derivation.cost <= left else {
                passed.append("\(slot.label) costs more than the limit leaves")
                continue
            }
            if case .argon2id(let memory, _, _) = slot.derivation, memory > memoryLimit {
                passed.append("\(slot.label) takes \(memory) KiB of memory, and the limit is \(memoryLimit)")
                continue
            }
            left -= slot.derivation.cost
            let key: DatabaseKey?
            do { key = try slot.open(
                with: secret, file: table.id
            ) } catch let error as DatabaseError where error.code.primary == .outOfMemory {
                passed.append("\(slot.label) needs more memory than there is")
                continue
            }
            guard let key else { continue }
            // A slot of version 1 may have been made to open with several secrets, and must not reveal which of them was tried.
            if slot.form == .uncommitted {
                do { try table.authenticate(bytes, under: key) } catch { continue }
            }
            return key
        }
        let hint = passed.isEmpty ? "" : "; not tried: \(passed.joined(separator: ", "))"
        throw DatabaseError(
            code: .authorization, reason: .noSlotOpens,
            message: "no key slot opens with this \(secret.kind): it is wrong, was revoked, or its slot is damaged\(hint)")
    }

    /// Finds out which key the database has if a change of it was interrupted, and whether slots and database are the latest.
    private mutating func settle(_ table: SlotTable, accepting accepts: Bool) throws {
        if let previous = try table.previousKey(under: slotKey) {
            var other = self
            other.key = previous.with(cipher: settings.cipher)
            do {
                guard let db = try connect() else { return }
                db.close()
                // The change was completed; only the old key is left to remove.
                if !settings.isReadOnly { try edit { table in table.previous = nil } }
            } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {
                self = other
                isRotationUnfinished = true
            } catch let error as DatabaseError
                where error.reason == .busy || error.reason == .keySlotsRolledBack || error.code.primary == .readOnly
            {
                // The next opening may remove it.
            }
        }
        do { try checkStanding() } catch let error as DatabaseError {
            guard accepts, let rollback = error.underlyingError as? Rollback else { throw error }
            // From now on these are the latest.
            if !settings.isReadOnly { try edit(accepting: true) { _ in } }
            acceptedRollback = rollback
        }
        // After the check: slots from an abandoned rotation would bring its key.
        if isRotationUnfinished { finishRotation() }
    }

    private func checkStanding() throws {
        guard let db = try connectForCheck() else {
            // There is no database: would opening create one?
            return settings.access == .readWriteCreate ? try requireDatabaseOrNew() : ()
        }
        defer { db.close() }
        try checkStanding(on: db.main)
    }

    /// Checks that slots and database are both the latest, and notes in each what it has not seen of the other.
    func checkStanding(on schema: Schema) throws {
        do { try check(try verified(try storage.read()), on: schema, updates: true) } catch let error as DatabaseError {
            guard error.reason == .keySlotsRolledBack else { throw error }
            // Another process may have been between its two steps. Under the lock no process is.
            do { try storage.update { bytes, _ in try check(try verified(bytes), on: schema, updates: false) } } catch let second
                as DatabaseError
            {
                // A read-only access cannot take the lock.
                throw second.reason == .keySlotsRolledBack || !settings.isReadOnly ? second : error
            }
        }
        noteSeen(by: schema)
    }

    /// Notes in the slots that the database has their mark, where a process died or the database was new before that.
    private func noteSeen(by schema: Schema) {
        // A transaction may undo a mark that it has not committed.
        guard !settings.isReadOnly, !schema.connection.isInTransaction,
            let table = try? verified(storage.read()), table.isUnseen(by: try? schema.slotMark())
        else { return }
        try? storage.update { bytes, write in
            let table = try verified(bytes)
            if table.isUnseen(by: try schema.slotMark()) { noteSeen(table, by: schema, under: slotKey, write) }
        }
    }

    /// Notes that the database has the mark of these slots: from then on, one without it is an older state. If that fails, the next
    /// opening does it.
    func noteSeen(_ table: SlotTable, by schema: Schema, under key: DatabaseKey, _ write: ([UInt8]) throws -> Void) {
        // A power cut must not take the mark, and leave the note.
        guard (try? schema.makeDurable()) != nil else { return }
        var table = table
        (table.isSeen, table.isForNewDatabase) = (true, false)
        guard let bytes = try? table.bytes(under: key) else { return }
        try? write(bytes)
    }

    private func connectForCheck() throws -> Connection? {
        do { return try connect() } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {
            throw DatabaseError(
                code: error.code, reason: error.reason,
                message: "the key slots do not hold the database's key: the slots or the database are from before a change of key, "
                    + "or do not belong together, or the cipher settings differ (\(error.message))",
                path: error.path, underlying: error)
        }
    }

    /// Throws if opening the database would create a new one in place of one that the slots were used with.
    func requireDatabaseOrNew() throws {
        let path = try Self.path(of: location)
        if acceptedRollback != nil || DatabaseFile.exists(path) && !DatabaseFile.isEmpty(path) { return }
        let table = try verified(try storage.read())
        if !table.isForNewDatabase { throw DatabaseError.rolledBackSlots(Rollback(.noDatabase, table, nil)) }
    }

    /// Gives the database the key that its slots already hold, as the process that died was about to do. If a lock or a full disk
    /// prevents that, a later opening does it; until then the old key opens the database.
    private mutating func finishRotation() {
        guard !settings.isReadOnly else { return }
        let unfinished = self
        try? storage.update { bytes, write in
            var table = try unfinished.verified(bytes)
            guard table.previous != nil, let db = try unfinished.connect() else { return }
            // In place, because this needs none of the functions that a schema may use.
            try unfinished.replaceKey(of: db, by: unfinished.slotKey, &table, .inPlace, nil, write)
        }
        // Another process may have finished it.
        guard let db = try? connect(slotKey) else { return }
        db.close()
        (key, isRotationUnfinished) = (slotKey.with(cipher: settings.cipher), false)
    }

    /// Opens a connection for this type's own use; returns nil if there is no database yet.
    func connect(_ key: DatabaseKey? = nil) throws -> Connection? {
        let path = try Self.path(of: location)
        guard DatabaseFile.exists(path), !DatabaseFile.isEmpty(path) else { return nil }
        var configuration = DatabaseConfiguration()
        configuration.access = settings.isReadOnly ? .readOnly : .readWrite
        configuration.busyTimeout = settings.busyTimeout
        configuration.followsSymbolicLinks = settings.followsSymbolicLinks
        return try Connection(location, key: (key ?? self.key).with(cipher: settings.cipher), configuration: configuration)
    }

    /// Compares the slots with the mark that the database has of them.
    func check(_ table: SlotTable, on schema: Schema, updates: Bool) throws {
        switch table.standing(to: try schema.slotMark()) {
        case .current: return
        case .rolledBack(let rollback): throw DatabaseError.rolledBackSlots(rollback)
        // A process died between the two steps of a change, or the database is new.
        case .ahead: break
        }
        guard updates, try !schema.isReadOnly else { return }
        do {
            try schema.connection.transaction { _ in
                // Another process may have changed the slots since. An older mark in place of its own would look like an older
                // database.
                if case .ahead = table.standing(to: try schema.slotMark()) { try schema.setSlotMark(table) }
            }
        } catch let error as DatabaseError where error.code.primary == .busy {
            // Another connection is writing: the next opening does it.
        }
    }
}
