import CSQLCipher
import SQLCipherKitCore

/// Rewrites all pages of a database with a new key in one transaction.
struct InPlaceKeyChange {
    private let schema: Schema
    private let key: Encryption
    private let old: Encryption
    private let path: String?
    /// The journal mode to restore after the change, if it had to be replaced.
    private let journal: String?

    init(of schema: Schema, to key: Encryption) throws(DatabaseError) {
        self.schema = schema
        self.key = key
        old = try schema.encryptionOrPlaintext
        path = try schema.path
        journal = try schema.unfitJournal
    }

    func run(_ progress: RewriteProgress.Handler?) throws {
        let connection = schema.connection
        let handle = try schema.live()
        // Callers may forget the old key when this returns, whatever a power failure does then.
        let settings = try KeptSettings(of: connection)
        defer { settings.putBack() }
        try schema.setSynchronous(.extra)
        try schema.lockForRewrite(replacing: journal)
        let keyspec: Keyspec
        do throws(DatabaseError) {
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
        do throws(DatabaseError) { try schema.unlockAfterRewrite(restoring: journal) } catch { throw closed(after: error) }
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
    private func closed(after error: DatabaseError) -> DatabaseError {
        schema.connection.closeNow()
        let workingKey = workingKey
        let outcome =
            switch workingKey {
            case .old: "the key could not be changed (\(error.message)); the file opens with the old key"
            case .new: "the key was changed, but the connection had to end (\(error.message)); the file opens with the new key"
            case .unknown:
                "the change of key failed (\(error.message)), and the file could not be read again to tell which key opens it: it "
                    + "is one of the two"
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

    /// Whether the file opens with a key; nil if that could not be determined.
    private func opens(with key: Encryption, restoringLog: Bool = false) -> Bool? {
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
            return error.reason == .wrongKeyOrNotADatabase ? false : nil
        }
        return true
    }
}
