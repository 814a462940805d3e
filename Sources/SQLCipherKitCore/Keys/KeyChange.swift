import CSQLCipher

extension Schema {
    /// Changes the key of the database in place.
    ///
    /// ```swift
    /// try archive.changeKey(to: newKey) { progress in
    ///     try Task.checkCancellation()
    ///     print("\(progress.completed) of \(progress.total)")
    /// }
    /// ```
    /// All pages of the file are written again in one transaction, and the connection continues with the new key. The journal is as
    /// large as the database, and needs that much disk space. The database is locked meanwhile, so that no other connection sees an
    /// intermediate state. If the process dies, the file opens with either the old or the new key. At the end, the file is opened a
    /// second time with the new key as a check. Other connections to the file must be opened again.
    ///
    /// The module `SQLCipherKit` can also change the key by writing a new file, which leaves the old file untouched.
    ///
    /// - Parameters:
    ///   - key: the new key. If it has no cipher settings, the database keeps its own; different settings need a new file.
    ///   - progress: called every few pages, and once with all pages done before the change takes effect. If it throws,
    ///     the change is undone, this call throws the same error, and the connection continues with the old key.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction, while a cursor is open, for a read-only database, and for a
    ///   database with key slots, whose slots would then hold another key; ``DatabaseError/Reason/notEncrypted`` for a plaintext
    ///   database; ``DatabaseError/Reason/busy`` when another connection has the database open or locked for longer than the busy
    ///   timeout; ``DatabaseError/Reason/schemaName`` if it is no longer attached; or any error that `progress` throws. In all
    ///   these cases nothing has changed. ``DatabaseError/Reason/rekeyFailed`` if the change itself failed: the connection is then
    ///   closed, and ``DatabaseError/workingKey-swift.property`` tells which key opens the file; it is the new key if the error
    ///   occurred after the change was complete.
    public func changeKey(to key: DatabaseKey, progress: DatabaseProgress.Handler? = nil) throws {
        try replaceKey(by: resolvedForKeyChange(key), progress)
    }

    /// Resolves a new key, and refuses one that the database's key slots would not hold.
    package func resolvedForKeyChange(_ key: DatabaseKey) throws -> DatabaseKey {
        try requireEncrypted()
        let key = try connection.refusingUse { try key.resolvedForNewKey() }
        try requireNoKeySlots(against: key)
        return key
    }

    /// Like `changeKey(to:progress:)`, but also for key slots, which get the new key at the same time.
    package func replaceKey(by key: DatabaseKey, _ progress: DatabaseProgress.Handler?) throws {
        try changingKey(to: key) { key, settings in
            guard key.settings.isSameFormat(as: settings) else {
                throw CipherConfiguration.invalid("other cipher settings need a new file: KeyChangeMode.newFile")
            }
            try InPlaceKeyChange(of: self, to: key).run(progress)
        }
    }

    /// Runs a change of the key while nothing else can use the connection.
    /// - Parameter change: receives the new key with the settings that the database keeps, and the present settings.
    package func changingKey(to key: DatabaseKey, _ change: (DatabaseKey, CipherConfiguration) throws -> Void) throws {
        try connection.usingExclusively {
            if connection.loan.pool.isBesideReaders {
                throw DatabaseError.misuse("changeKey(to:) would change one connection of the pool only: use that of the pool")
            }
            try requireRewritable()
            let settings = try requireEncrypted()
            let key = try connection.refusingUse { try key.resolvedForNewKey() }.adopting(settings)
            try change(key, settings)
        }
    }

    /// The database's cipher settings. Throws if it is not encrypted.
    @discardableResult
    private func requireEncrypted() throws -> CipherConfiguration {
        if let settings = try cipher?.settings, try !settings.isPlaintext(DatabaseFile.header(live(), schema: name)) {
            return settings
        }
        let path = try self.path
        throw DatabaseError(
            code: .misuse, reason: .notEncrypted, message: "the database \(path ?? name) is not encrypted", path: path)
    }
}

extension Connection {
    /// Changes the key of the main database in place.
    ///
    /// ```swift
    /// try db.changeKey(to: .passphrase("battery staple"))
    /// ```
    /// - Parameters:
    ///   - key: the new key. If it has no cipher settings, the database keeps its own; different settings need a new file.
    ///   - progress: called every few pages, and with all pages done before the change takes effect; if it throws, the key stays.
    /// - Throws: the same errors as ``Schema/changeKey(to:progress:)``.
    public func changeKey(to key: DatabaseKey, progress: DatabaseProgress.Handler? = nil) throws {
        try main.changeKey(to: key, progress: progress)
    }
}

/// Rewrites all pages of a database with a new key in one transaction.
private struct InPlaceKeyChange {
    private let schema: Schema
    private let key: DatabaseKey
    private let old: DatabaseKey
    private let path: String?
    /// The journal mode to restore after the change, if it had to be replaced.
    private let journal: String?

    init(of schema: Schema, to key: DatabaseKey) throws {
        self.schema = schema
        self.key = key
        old = try schema.encryptionOrPlaintext
        path = try schema.path
        journal = try schema.unfitJournal
    }

    func run(_ progress: DatabaseProgress.Handler?) throws {
        let connection = schema.connection
        let handle = try schema.live()
        // Callers may forget the old key when this returns, whatever a power failure does then.
        let settings = try KeptSettings(of: connection)
        defer { settings.putBack() }
        try schema.setSynchronous(.extra)
        try schema.lockForRewrite(replacing: journal)
        let keyspec: Keyspec
        do {
            keyspec = try Keyspec(key, salt: DatabaseFile.header(handle, schema: schema.name))
        } catch {
            try? schema.unlockAfterRewrite(restoring: journal)
            throw error
        }
        connection.cache.removeAll()
        let relay = progress.map { ProgressRelay($0, on: connection) }
        let rc = keyspec.withBytes { rekey(handle, $0, relay) }
        if rc == SQLITE_INTERRUPT, let error = relay?.error {
            try schema.unlockAfterRewrite(restoring: journal)
            throw error
        }
        guard rc == SQLITE_OK else {
            // The journal may not have been rolled back, and another write on this connection could do further damage.
            throw closed(after: connection.failure(rc))
        }
        // The change is committed.
        do { try schema.unlockAfterRewrite(restoring: journal) } catch { throw closed(after: error) }
        if opens(with: key) == false { throw closed(after: DatabaseError(message: "the file does not open with the new key")) }
        schema.noteKey(key)
    }

    private func rekey(_ handle: OpaquePointer, _ key: UnsafeRawBufferPointer, _ relay: ProgressRelay?) -> Int32 {
        guard let relay else { return sqlcipherkit_rekey(handle, schema.name, key.baseAddress, Int32(key.count), nil, nil) }
        return relay.withPointer { pointer in
            sqlcipherkit_rekey(
                handle, schema.name, key.baseAddress, Int32(key.count),
                { ProgressRelay.from($0)?.report(done: Int($1), total: Int($2)) == false ? 1 : 0 }, pointer)
        }
    }

    /// Closes the connection and determines which key opens the file.
    private func closed(after error: any Error) -> DatabaseError {
        let error = DatabaseError(wrapping: error)
        schema.connection.closeNow()
        let workingKey = workingKey
        let outcome =
            switch workingKey {
            case .old: "the key could not be changed (\(error.message)); the file opens with the old key"
            case .new: "the key was changed, but the connection had to end (\(error.message)); the file opens with the new key"
            case .unknown:
                "the change of key failed (\(error.message)), and the file could not be read again to find which key opens it: it "
                    + "is the old key or the new key"
            }
        return DatabaseError(
            changingKeyOf: path, code: error.code, workingKey: workingKey, message: outcome + "; the connection is closed")
    }

    /// The key that opens the file, determined with a second connection, which also rolls back an unfinished change and restores
    /// the write-ahead log.
    private var workingKey: DatabaseError.WorkingKey {
        if opens(with: key, restoringLog: true) == true { return .new }
        return opens(with: old, restoringLog: true) == true ? .old : .unknown
    }

    /// Returns whether the file opens with a key; nil if that could not be determined.
    private func opens(with key: DatabaseKey, restoringLog: Bool = false) -> Bool? {
        // An in-memory or temporary database cannot be opened a second time.
        guard let path else { return nil }
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.busyTimeout = schema.connection.configuration.busyTimeout
        do {
            let db = try Connection(.file(path), key: key, configuration: configuration)
            if restoringLog, journal == "wal" { _ = try? db.main.setJournalMode(.wal) }
            db.close()
        } catch {
            return (error as? DatabaseError)?.reason == .wrongKeyOrNotADatabase ? false : nil
        }
        return true
    }
}

extension Schema {
    /// - Throws: ``DatabaseError/Reason/misuse`` if the database has key slots that do not hold `key`, its new one: the slots could
    ///   no longer open it.
    package func requireNoKeySlots(against key: DatabaseKey) throws {
        let path = try self.path, current = try encryptionOrPlaintext
        // Without encryption no one is locked out.
        if key.isPlaintext || current.isPlaintext || key.isRaw(of: current) { return }
        let slots = path.map { DatabaseFile.keySlots(beside: $0) }
        let areBeside = slots.map { DatabaseFile.exists($0) } ?? false
        if !areBeside {
            guard hasKeyHolder else { return }
        }
        let advice = areBeside ? "; if \(slots ?? "") is not this database's, remove it" : ""
        throw DatabaseError(
            code: .misuse, reason: .misuse,
            message: "the database \(path ?? name) has key slots, which would no longer hold its key: KeySlots.rotateKey changes "
                + "the key, and KeySlots.changePassphrase the passphrase of a slot\(advice)", path: path)
    }
}

extension DatabaseFile {
    /// The path of the key slots of a database if they are stored beside it.
    package static func keySlots(beside path: String) -> String { realPath(path) + ".keys" }
}

extension DatabaseKey {
    /// Returns whether this is the same raw key as `whole`, which includes its salt; this key may omit it.
    fileprivate func isRaw(of whole: DatabaseKey) -> Bool {
        guard isRaw else { return false }
        return withUnsafeBytes { bytes in whole.withUnsafeBytes { $0.starts(with: bytes) } }
    }
}
