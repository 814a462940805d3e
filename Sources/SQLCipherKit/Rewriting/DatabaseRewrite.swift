import CSQLCipher
import Foundation

/// The one way in which a whole database is rewritten: into a new file beside it, which is compared with the old one, flushed
/// to disk, and then renamed over it, all under the old file's exclusive lock.
///
/// Until the rename, nothing is written to the old file, save that a write-ahead log is merged into it. A process that dies
/// leaves the old file, or the new one, and perhaps an unfinished new file, which the next rewrite removes.
struct DatabaseRewrite {
    let connection: Connection
    let schema: String
    let path: String
    let target: Encryption
    /// The new file's page size; nil for the settings' own, or the old file's if it will be plaintext.
    let pageSize: Int?
    let relay: ProgressRelay?
    /// The old file's permissions and owner; nil for a file of its own.
    private let original: stat?
    private let isReplacing: Bool

    /// - Throws: ``DatabaseError/Reason/misuse`` for a database without a file, or a file without permission to write.
    init(
        _ connection: Connection, _ schema: String, to target: Encryption, pageSize: Int? = nil, handler: RewriteProgressHandler?
    ) throws(DatabaseError) {
        self.connection = connection
        self.schema = schema
        self.target = target
        self.pageSize = pageSize
        isReplacing = true
        relay = handler.map { ProgressRelay($0) }
        // SQLite's own name for the file: absolute, and without symbolic links.
        path = sqlite3_db_filename(try connection.live(), schema).map { String(cString: $0) } ?? ""
        if path.isEmpty { throw .misuse("the database \(schema) has no file that could be rewritten") }
        if case .key(_, let cipher) = target { try cipher.validate() }
        var original = stat()
        guard stat(path, &original) == 0 else { throw DatabaseFile.cannotOpen(path, String(cString: strerror(errno))) }
        // A rename needs no permission to write the file itself, so it has to be asked for here.
        guard original.st_mode & 0o222 != 0, access(path, W_OK) == 0 else {
            throw DatabaseError(code: .readOnly, reason: .misuse, message: "the file \(path) is read-only", path: path)
        }
        self.original = original
    }

    /// A copy with a name of its own, in place of nothing, or of another file that is not looked at.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file of that name that is not to be replaced.
    init(
        _ connection: Connection, _ schema: String, exportingTo path: String, as target: Encryption, replacing: Bool = false,
        handler: RewriteProgressHandler?
    ) throws(DatabaseError) {
        self.connection = connection
        self.schema = schema
        self.target = target
        pageSize = nil
        relay = handler.map { ProgressRelay($0) }
        original = nil
        self.path = URL(fileURLWithPath: path).path
        if case .key(_, let cipher) = target { try cipher.validate() }
        if path.isEmpty || path.utf8.contains(0) { throw .invalidArgument("the path of the new file is empty or contains a NUL character") }
        var info = stat()
        isReplacing = replacing
        if !replacing, lstat(self.path, &info) == 0 { throw DatabaseFile.cannotOpen(self.path, "there is a file of that name already") }
    }

    /// Writes the copy. When it throws, there is no new file.
    /// - Parameter check: called last of all before the copy gets its name.
    func export(beforePublishing check: () throws -> Void = {}) throws {
        let file = try UnfinishedFile(for: path)
        // One look at the database for the copy and for the comparison.
        try connection.savepoint("export") { _ in
            let reporter = try makeReporter()
            try export(to: file.newPath, reporter)
            try finish(file.newPath, hadWAL: false, reporter)
            try file.flush()
            try reporter?.finish()
        }
        try check()
        try file.publish(replacing: isReplacing)
    }

    /// Rewrites the database. When it throws, the old file is as it was. Afterwards the connection still has the old file open,
    /// which has no name any more, and must let go of it.
    func run() throws {
        let hadWAL = try connection.hasWAL(schema)
        try connection.lockForRewrite(schema, hadWAL: hadWAL)
        do {
            let file = try UnfinishedFile(for: path)
            let reporter = try makeReporter()
            try export(to: file.newPath, reporter)
            try finish(file.newPath, hadWAL: hadWAL, reporter)
            try file.flush(like: original)
            try reporter?.finish()
            // Nothing of the old file may be applied to the new one. There is nothing in them: the log is merged, and a journal
            // that was left by a crash has been played back when the lock was taken.
            for suffix in ["-journal", "-wal", "-shm"] { unlink(path + suffix) }
            try file.publish(replacing: true)
        } catch {
            try? connection.unlockAfterRewrite(schema, hadWAL: hadWAL)
            throw error
        }
    }

    // MARK: Copying

    private func export(to new: String, _ reporter: RewriteReporter?) throws {
        let (settings, key) = targetSettings
        var configuration = settings
        let pageSize = try self.pageSize ?? connection.pageSize(schema)
        // The page size of an encrypted file comes with its settings.
        configuration.beforeHeader = try connection.shape(of: schema, pageSize: key == nil ? pageSize : nil)
        let copy = try Connection(.file(new), key: key, configuration: configuration)
        defer { copy.close() }
        try copy.makeUnsafeAndFast()
        try DatabaseCopy(connection, schema, copy, reporter).run()
    }

    /// How to open the new file.
    private var targetSettings: (DatabaseConfiguration, EncryptionKey?) {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.enforcesForeignKeys = false
        configuration.prepare = connection.configuration.preparingOnly
        guard case .key(let key, let cipher) = target else { return (configuration, nil) }
        configuration.cipher = cipher
        return (configuration, key)
    }

    private func makeReporter() throws(DatabaseError) -> RewriteReporter? {
        guard let relay else { return nil }
        let sourcePageSize = try connection.pageSize(schema)
        var targetPageSize = pageSize ?? sourcePageSize
        if case .key(_, let cipher) = target { targetPageSize = cipher.pageSize }
        let pages = try connection.fetchOne(Int.self, SQL(raw: "PRAGMA \(schema.quotedSQLIdentifier).page_count")) ?? 0
        return RewriteReporter(relay, total: max(1, pages * sourcePageSize / targetPageSize))
    }

    /// Opens the new file as anybody will, compares it with the old one, and gives it its journal mode.
    private func finish(_ new: String, hadWAL: Bool, _ reporter: RewriteReporter?) throws {
        let (configuration, key) = targetSettings
        let copy: Connection
        do { copy = try Connection(.file(new), key: key, configuration: configuration) } catch let error as DatabaseError {
            throw DatabaseError(
                code: error.code, reason: .conversionFailed, message: "the new file does not open: \(error.message); the old one stays",
                path: path)
        }
        defer { copy.close() }
        if hadWAL { try copy.execute("PRAGMA journal_mode = WAL") }
        try DatabaseComparison(connection, schema, copy, reporter).run()
    }
}

extension DatabaseConfiguration {
    /// `prepare` for the functions and collations that it registers; what it may write is undone, as a copy must be a copy.
    var preparingOnly: (@Sendable (Connection) throws -> Void)? {
        guard let prepare else { return nil }
        return { db in
            try db.savepoint { db in
                try prepare(db)
                return TransactionEnd.rollback(())
            }
        }
    }
}

extension Connection {
    /// What gives a new file a database's shape before its header is written.
    func shape(of schema: String, pageSize: Int?) throws(DatabaseError) -> @Sendable (Connection) throws -> Void {
        let name = schema.quotedSQLIdentifier
        let encoding = try fetchOne(String.self, SQL(raw: "PRAGMA \(name).encoding")) ?? "UTF-8"
        let autoVacuum = try fetchOne(Int.self, SQL(raw: "PRAGMA \(name).auto_vacuum")) ?? 0
        return { copy in
            if let pageSize { try copy.execute(SQL(raw: "PRAGMA page_size = \(pageSize)")) }
            try copy.execute(SQL(raw: "PRAGMA encoding = '\(encoding)'"))
            try copy.execute(SQL(raw: "PRAGMA auto_vacuum = \(autoVacuum)"))
            // The encoding is written with the first table, and there may be none to copy.
            if encoding != "UTF-8" { try copy.execute(SQLScript("CREATE TABLE encoding_keeper(x); DROP TABLE encoding_keeper")) }
        }
    }

    /// An unfinished file is worth nothing: no journal, and one flush at the end.
    func makeUnsafeAndFast() throws(DatabaseError) {
        try execute("PRAGMA journal_mode = OFF")
        try execute("PRAGMA synchronous = OFF")
    }

    /// A database's page size. An encrypted one answers with text.
    func pageSize(_ schema: String) throws(DatabaseError) -> Int {
        let value = try fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(schema.quotedSQLIdentifier).page_size"))
        switch value {
        case .integer(let size): return Int(size)
        case .text(let size): return Int(size) ?? 4096
        default: return 4096
        }
    }
}
