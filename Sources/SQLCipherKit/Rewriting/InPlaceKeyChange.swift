import CSQLCipher

/// Rewrites all pages of a database with another key, in one transaction.
struct InPlaceKeyChange {
    private let schema: Schema
    private let key: Encryption
    private let path: String?

    init(of schema: Schema, to key: Encryption) throws(DatabaseError) {
        self.schema = schema
        self.key = key
        path = try schema.path
    }

    func run(_ progress: RewriteProgressHandler?) throws {
        let connection = schema.connection
        let handle = try schema.live()
        let hadWAL = try schema.hasWAL
        try schema.lockForRewrite(hadWAL: hadWAL)
        let keyspec: Keyspec
        do throws(DatabaseError) {
            keyspec = try Keyspec(key, salt: DatabaseFile.header(handle, schema: schema.name))
        } catch {
            try? schema.unlockAfterRewrite(hadWAL: hadWAL)
            throw error
        }
        connection.cache.removeAll()
        let relay = progress.map { ProgressRelay($0) }
        let rc = keyspec.withBytes { rekey(handle, $0, relay) }
        if rc == SQLITE_INTERRUPT, let error = relay?.error {
            try schema.unlockAfterRewrite(hadWAL: hadWAL)
            throw error
        }
        guard rc == SQLITE_OK else {
            // The journal may not have been played back, and another write with this connection could make things worse.
            let error = connection.failure(rc)
            connection.close()
            throw failed(error, workingKey)
        }
        do throws(DatabaseError) { try schema.unlockAfterRewrite(hadWAL: hadWAL) } catch {
            connection.close()
            throw failed(error, workingKey)
        }
        if case .old = workingKey {
            connection.close()
            throw failed(DatabaseError(message: "the file does not open with the new key"), .old)
        }
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

    /// The key that opens the file according to a second connection.
    private enum WorkingKey: String {
        case new = "the file opens with the new key"
        case old = "the file opens with the old key"
        case unknown = "the file could not be read again to tell which key opens it: it is one of the two"
    }

    private var workingKey: WorkingKey {
        // A database in memory or a temporary one cannot be opened a second time.
        guard let path else { return .unknown }
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        configuration.busyTimeout = schema.connection.configuration.busyTimeout
        do { _ = try Connection(.file(path), key: key, configuration: configuration) } catch let error as DatabaseError {
            return error.reason == .wrongKeyOrNotADatabase ? .old : .unknown
        } catch {
            return .unknown
        }
        return .new
    }

    private func failed(_ error: DatabaseError, _ working: WorkingKey) -> DatabaseError {
        DatabaseError(
            code: error.code, reason: .rekeyFailed,
            message: "the key could not be changed (\(error.message)); \(working.rawValue); the connection is closed", path: path)
    }
}
