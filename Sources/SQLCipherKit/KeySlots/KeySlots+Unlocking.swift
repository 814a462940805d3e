import CSQLCipher

extension KeySlots {
    /// Opens the slots of a database with a passphrase or a recovery key, and looks into the database whether they are up to date.
    ///
    /// A rotation, or the making of the slots for a database with a passphrase, that was cut off is brought to its end first, which
    /// rewrites the database, unless the access is read-only.
    ///
    /// Slots of the secret's kind are tried in turn, and each costs its full key derivation: `label` saves those before the right
    /// one.
    /// - Parameters:
    ///   - secret: the passphrase or recovery key.
    ///   - location: the database, by its path.
    ///   - place: where the slots are. Default: beside the database.
    ///   - label: the slot to try first.
    ///   - iterationLimit: the largest number of rounds of key derivation to spend, against slots that were made to take hours.
    ///   - cipher: the database's cipher settings; nil for SQLCipher 4's.
    ///   - configuration: its access, busy timeout and treatment of links count.
    /// - Throws: ``DatabaseError/Reason/noSlotOpens`` for a wrong secret, or when the limit was reached before one opened;
    ///   ``DatabaseError/Reason/keySlotsDamaged``; ``DatabaseError/Reason/keySlotsRolledBack``;
    ///   ``DatabaseError/Reason/cannotOpen`` if there are no slots; and what opening the database throws.
    public static func unlock(
        _ secret: SlotSecret, of location: DatabaseLocation, at place: Place = .beside, first label: String? = nil,
        iterationLimit: Int = defaultIterationLimit, cipher: CipherConfiguration? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws -> KeySlots {
        _ = try path(of: location)
        let storage = try storage(place, location, configuration)
        if configuration.access != .readOnly { (storage as? SlotFile)?.removeRemains() }
        guard let bytes = try storage.read() else { throw missing(location) }
        let table = try SlotTable(parsing: bytes)
        let key = try open(table, secret, first: label, iterationLimit)
        try SlotTable.authenticate(bytes, under: key)
        var slots = KeySlots(location, key, table, storage, Settings(configuration, cipher))
        try slots.settle(table)
        return slots
    }

    private static func open(
        _ table: SlotTable, _ secret: SlotSecret, first label: String?, _ limit: Int
    ) throws(DatabaseError) -> Encryption {
        var candidates = table.slots.filter { $0.kind == secret.kind }
        if let label, let index = candidates.firstIndex(where: { $0.label.isSameText(as: label) }) {
            candidates.insert(candidates.remove(at: index), at: 0)
        }
        var left = limit
        for slot in candidates {
            guard slot.iterations <= left else {
                throw DatabaseError(
                    code: .authorization, reason: .noSlotOpens,
                    message: "the slot \(slot.label) asks for \(slot.iterations) rounds of key derivation, more than the limit leaves")
            }
            left -= slot.iterations
            if let key = try slot.open(with: secret, file: table.id) { return key }
        }
        throw DatabaseError(
            code: .authorization, reason: .noSlotOpens,
            message: "no key slot opens with this \(secret.kind): it is wrong, was revoked, or its slot is damaged")
    }

    /// Finds out which key the database has, if a change of it was cut off, and whether the slots are as new as the database.
    private mutating func settle(_ table: SlotTable) throws {
        if let previous = try table.previousKey(under: slotKey) {
            var other = self
            other.key = previous.with(cipher: settings.cipher)
            do {
                guard let db = try connect() else { return }
                db.close()
                // The change came to its end; only the note of it is left to remove.
                if !settings.isReadOnly { try edit { table in table.previous = nil } }
            } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {
                self = other
                isRotationUnfinished = true
                finishRotation()
            } catch let error as DatabaseError where error.reason == .busy || error.code.primary == .readOnly {
                // The next opening may remove it.
            }
        }
        guard let db = try connect() else { return }
        defer { db.close() }
        do { try check(try verified(try storage.read()), on: db.main, updates: true) } catch let error as DatabaseError {
            guard error.reason == .keySlotsRolledBack else { throw error }
            // Another process may have been between its two steps: under the lock none is.
            try storage.update { bytes, _ in try check(try verified(bytes), on: db.main, updates: false) }
        }
    }

    /// Gives the database the key that its slots hold already, as the process that died was about to. What stands in the way, a
    /// lock or a full disk, is left to a later opening: until then the key from before opens the database.
    private mutating func finishRotation() {
        guard !settings.isReadOnly else { return }
        let unfinished = self
        try? storage.update { bytes, write in
            var table = try unfinished.verified(bytes)
            guard table.previous != nil, let db = try unfinished.connect() else { return }
            // In place: this needs none of the functions that a schema may use.
            try unfinished.replaceKey(of: db, by: unfinished.slotKey, &table, .inPlace, nil, write)
        }
        // By another process, perhaps.
        guard let db = try? connect(slotKey) else { return }
        db.close()
        (key, isRotationUnfinished) = (slotKey.with(cipher: settings.cipher), false)
    }

    /// A connection of our own; nil if there is no database yet.
    func connect(_ key: Encryption? = nil) throws -> Connection? {
        let path = try Self.path(of: location)
        guard DatabaseFile.exists(path), !DatabaseFile.isEmpty(path) else { return nil }
        var configuration = DatabaseConfiguration()
        configuration.access = settings.isReadOnly ? .readOnly : .readWrite
        configuration.busyTimeout = settings.busyTimeout
        configuration.followsSymbolicLinks = settings.followsSymbolicLinks
        return try Connection(location, key: (key ?? self.key).with(cipher: settings.cipher), configuration: configuration)
    }

    /// Compares the slots with what the database remembers of them.
    func check(_ table: SlotTable, on schema: Schema, updates: Bool) throws(DatabaseError) {
        if let mark = try schema.slotMark() {
            guard mark.id == table.id else { throw .rolledBackSlots("the database belongs to others") }
            guard mark.generation <= table.generation else {
                throw .rolledBackSlots("they are of generation \(table.generation), and the database has seen \(mark.generation)")
            }
            if mark.generation == table.generation { return }
        }
        // A process died between the two steps of a change, or the database is new.
        guard updates, try !schema.isReadOnly else { return }
        do throws(DatabaseError) { try schema.setSlotMark(table) } catch {
            // Another connection is writing: the next opening does it.
            guard error.reason == .busy else { throw error }
        }
    }
}

/// What the database remembers of its slots, in a table of one row: encrypted like the rest, so that only a holder of the key can
/// have written it.
extension Schema {
    private static let markTable = "sqlcipherkit_key_slots"

    func slotMark() throws(DatabaseError) -> (id: [UInt8], generation: Int)? {
        let exists: SQL = "SELECT count(*) FROM \(identifier: name).sqlite_schema WHERE type = 'table' AND name = \(Self.markTable)"
        guard try connection.fetchOne(Int.self, exists) == 1 else { return nil }
        return try connection.fetchOne(([UInt8], Int).self, SQL(raw: "SELECT id, generation FROM \(quotedName).\(Self.markTable)"))
    }

    func setSlotMark(_ table: SlotTable) throws(DatabaseError) {
        try connection.execute(SQL(raw: """
            CREATE TABLE IF NOT EXISTS \(quotedName).\(Self.markTable)(
                one INTEGER PRIMARY KEY CHECK (one = 1), id BLOB NOT NULL, generation INTEGER NOT NULL)
            """))
        try connection.execute(
            SQL(raw: "INSERT OR REPLACE INTO \(quotedName).\(Self.markTable) VALUES (1, ?, ?)"), [table.id, table.generation])
    }
}

extension DatabaseError {
    static func rolledBackSlots(_ message: String) -> DatabaseError {
        DatabaseError(code: .corrupt, reason: .keySlotsRolledBack, message: "the key slots are not the latest: \(message)")
    }
}
