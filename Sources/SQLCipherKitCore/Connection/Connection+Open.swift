import CSQLCipher
import Foundation

/// Opening has one path: at its end the database has been read with the key, or an error is thrown.
extension Connection {
    func open(key: DatabaseKey?) throws {
        try location.refuseKey()
        let resolved = try (key ?? .plaintext).resolved(for: location, configuration)
        let key = resolved.key
        if configuration.access != .readOnly { location.removeRemains() }
        let isMissing = try DatabaseFile.prepare(location, configuration)
        do {
            try openHandle()
            if configuration.readsPagesOnly { return key.isPlaintext ? () : try unlock(with: key) }
            if configuration.access != .readOnly, case .uri = location.place, let path = try main.path {
                AtomicFile.removeRemains(of: path, isOpen: true)
            }
            try withSafeguards(configuration.safeguards) {
                if !key.isPlaintext { try unlock(with: key) }
                // The key was derived below this call.
                defer { if !key.isPlaintext { sqlcipherkit_wipe_traces() } }
                try verify(key)
                if configuration.safeguards?.checksStructure == true { try main.requireStructure() }
            }
            if try isEmptyFile() {
                if configuration.needsContent { throw DatabaseFile.empty(location.path ?? location.name) }
                if configuration.access != .readOnly { try create() }
            }
            try applyConfiguration()
            main.noteKey(key)
            try configuration.prepareDatabase?(self)
            try resolved.didOpen?(main)
        } catch {
            close()
            if isMissing { DatabaseFile.removeEmpty(location) }
            throw error
        }
    }

    private func openHandle() throws {
        var flags = SQLITE_OPEN_EXRESCODE
        switch configuration.access {
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .readWriteCreate: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        }
        // A plain path never begins with `file:`, because DatabaseLocation puts `./` before a relative one.
        flags |= SQLITE_OPEN_URI
        flags |= configuration.usesMutex ? SQLITE_OPEN_FULLMUTEX : SQLITE_OPEN_NOMUTEX
        if !configuration.followsSymbolicLinks { flags |= SQLITE_OPEN_NOFOLLOW }
        var opened: OpaquePointer?
        let rc = sqlcipherkit_open(location.name, &opened, flags)
        handle = opened
        guard rc == SQLITE_OK, let opened else {
            let error = DatabaseError(rc: rc, database: opened)
            if error.reason == .noRandomBytes { throw error }
            let name = location.path ?? location.name
            throw DatabaseError(
                code: error.code, reason: .cannotOpen, message: DatabaseFile.cannotOpen(name, error.message).message, path: name)
        }
        try check(profile.attach(to: opened))
        watchRollbacks(opened)
        try StoredConversion.define(self)
        sqlite3_limit(opened, SQLITE_LIMIT_COLUMN, Self.columnLimit)
        sqlite3_busy_timeout(opened, configuration.busyTimeout.clampedMilliseconds)
        guard configuration.allowsDoubleQuotedStrings else { return }
        for option in [SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL] {
            var isOn: Int32 = 0
            try check(sqlcipherkit_db_config(opened, option, 1, &isOn))
        }
    }

    private func unlock(with key: DatabaseKey) throws {
        let handle = try live()
        let header = try DatabaseFile.header(handle)
        try key.refusePlaintext(header, location)
        let keyspec = try Keyspec(key, salt: header)
        // Passes every setting: the missing ones would be the process's defaults, which other code may have changed.
        var settings = key.settings.engineSettings
        let rc = keyspec.withBytes { sqlcipherkit_key(handle, "main", $0.baseAddress, Int32($0.count), &settings) }
        if rc == SQLITE_MISUSE {
            throw DatabaseError.misuse("the program has set PRAGMA cipher_hmac_salt_mask for the whole process")
        }
        try check(rc)
    }

    /// Reads the schema to show whether the key is right: if the first page fails its authentication, it is not. Any other error is
    /// thrown as it is.
    private func verify(_ key: DatabaseKey) throws {
        let handle = try live()
        let rc = sqlite3_exec(handle, "SELECT count(*) FROM sqlite_schema", nil, nil, nil)
        guard rc != SQLITE_OK else { return }
        let error = failure(rc)
        let path = location.path ?? location.name
        let isProven = sqlcipherkit_is_key_proven(handle, "main") != 0
        // Without authentication a wrong key gives a page of noise, which may look like a damaged one.
        let looksWrong: [ResultCode] = key.isPlaintext || key.settings.usesHMAC ? [.notADatabase] : [.notADatabase, .corrupt]
        if !isProven, looksWrong.contains(error.code.primary) {
            throw key.refusal(by: path, header: try? DatabaseFile.header(handle))
        }
        if .corrupt ~= error.code || .notADatabase ~= error.code {
            throw DatabaseError(
                code: error.code, reason: .engine, message: "\(path) is damaged, or lacks pages at its end (\(error.message))",
                path: path)
        }
        if .readOnlyRollback ~= error.code {
            throw DatabaseError(
                code: error.code, reason: .cannotOpen,
                message: "\(path) has the journal of an interrupted change: open it for writing to undo that", path: path)
        }
        throw .cannotOpen ~= error.code ? DatabaseFile.cannotOpen(path, error.message) : error
    }

    private func isEmptyFile() throws -> Bool {
        if configuration.access == .readOnly, !configuration.needsContent { return false }
        return try fetchOne(Int.self, "PRAGMA page_count") == 0
    }

    /// Writes the header, which fixes the key, and runs `onCreate`, both in one transaction: if the process dies in between, the
    /// file is empty, and counts as new again.
    private func create() throws {
        try configuration.beforeHeader?(self)
        // Another process may have been faster, perhaps with its own key. SQLite checks again when it has the lock, and reading
        // with a wrong key fails.
        try execute("BEGIN IMMEDIATE")
        guard try fetchOne(Int.self, "PRAGMA page_count") == 1, try DatabaseFile.header(live()) == nil else {
            try execute("COMMIT")
            return
        }
        try execute("PRAGMA user_version = 0")
        try inTransaction { try configuration.onCreate?(self) }
        try execute("COMMIT")
    }

    private func applyConfiguration() throws {
        try execute(configuration.enforcesForeignKeys ? "PRAGMA foreign_keys = ON" : "PRAGMA foreign_keys = OFF")
        try applyJournalMode()
        try main.applyDurability()
        // Apple's fsync does not empty the cache of the drive (https://sqlite.org/pragma.html#pragma_fullfsync). Elsewhere this
        // changes nothing.
        if configuration.durability != .off { try execute("PRAGMA fullfsync = ON") }
    }

    private func applyJournalMode() throws {
        guard let wanted = configuration.journalMode, configuration.access != .readOnly else { return }
        var got: String?, isDone = false
        // Here SQLite itself does not wait, not even for another process that is just opening the file.
        let end = ContinuousClock.now + configuration.busyTimeout
        while !isDone {
            do { (got, isDone) = (
                try fetchOne(String.self, SQL(raw: "PRAGMA journal_mode = \(wanted.rawValue)")), true
            ) } catch let error as DatabaseError where error.code.primary == .busy && ContinuousClock.now < end {
                usleep(.random(in: 500...3000))
            }
        }
        // A database in memory knows only the modes `memory` and `off`.
        guard got == wanted.rawValue || location.path == nil else {
            throw DatabaseError.misuse("the journal mode \(wanted.rawValue) was not accepted: it is \(got ?? "unknown")")
        }
    }
}

extension Duration {
    /// Milliseconds for SQLite's timeouts, rounded up, so that a short wait does not become none.
    package var clampedMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        let milliseconds = Double(seconds) * 1000 + (Double(attoseconds) / 1e15).rounded(.up)
        return milliseconds <= 0 ? 0 : milliseconds >= 2_147_483_647 ? Int32.max : Int32(milliseconds)
    }
}
