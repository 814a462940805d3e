import Foundation

/// A backup into a file: written under another name, checked, flushed, and then given its name.
struct BackupFile {
    private let connection: Connection
    private let schema: String
    private let path: String
    private let encryption: Encryption
    private let options: BackupOptions
    private let progress: RewriteProgressHandler?

    init(
        _ connection: Connection, _ schema: String, _ path: String, as encryption: Encryption, _ options: BackupOptions,
        _ progress: RewriteProgressHandler?
    ) throws(DatabaseError) {
        try connection.requireSchema(schema)
        if path.isEmpty || path.utf8.contains(0) { throw .invalidArgument("the path of the backup is empty or contains a NUL character") }
        if case .key(_, let cipher) = encryption { try cipher.validate() }
        self.connection = connection
        self.schema = schema
        self.path = URL(fileURLWithPath: path).path
        self.encryption = encryption
        self.options = options
        self.progress = progress
    }

    func run() throws {
        try checkPlace()
        let file = try UnfinishedFile(for: path)
        var configuration = DatabaseConfiguration.unfinished(like: connection)
        let layout = try PageLayout(connection, schema)
        if !layout.isEncrypted, case .plaintext = encryption {
            configuration.beforeHeader = { try $0.execute(SQL(raw: "PRAGMA page_size = \(layout.pageSize)")) }
        }
        var relay: ProgressRelay?
        do {
            let copy = try encryption.open(.file(file.newPath), configuration)
            defer { copy.close() }
            guard try PageLayout(copy, "main") == layout else { return try rewrite(file, copy) }
            relay = progress.map { ProgressRelay($0) }
            try copy.makeUnsafeAndFast()
            try PageCopy(connection, schema, copy, "main", options, relay).run()
        }
        // As anybody will open it.
        do {
            let copy = try encryption.open(.file(file.newPath), configuration)
            defer { copy.close() }
            try copy.setJournalMode(.delete)
            try copy.requireSound("the backup")
        }
        try file.flush()
        if let relay, !relay.finish() { throw relay.error ?? CancellationError() }
        try checkPlace()
        try file.publish(replacing: options.replacesFile)
    }

    /// The way for another layout of pages.
    private func rewrite(_ file: UnfinishedFile, _ copy: Connection) throws {
        copy.close()
        file.discard()
        try DatabaseRewrite(
            connection, schema, exportingTo: path, as: encryption, replacing: options.replacesFile, handler: progress
        ).export(beforePublishing: checkPlace)
    }

    /// A journal or log beside a file that is replaced would be applied to the new one.
    private func checkPlace() throws {
        var info = stat()
        if !options.replacesFile, lstat(path, &info) == 0 { throw DatabaseFile.cannotOpen(path, "there is a file of that name already") }
        for suffix in ["-journal", "-wal"] where lstat(path + suffix, &info) == 0 {
            throw DatabaseFile.cannotOpen(path, "\(path + suffix) shows that a database of that name is in use, or was when its process died")
        }
        guard lstat(path, &info) == 0 else { return }
        if info.st_mode & S_IFMT != S_IFREG { throw DatabaseFile.cannotOpen(path, "it is no file") }
        for open in try connection.attachedDatabases().compactMap(\.path) {
            var used = stat()
            if stat(open, &used) == 0, used.st_ino == info.st_ino, used.st_dev == info.st_dev {
                throw DatabaseFile.cannotOpen(path, "it is the database itself, or another one of the connection")
            }
        }
    }
}

extension DatabaseConfiguration {
    /// For a file or a database in memory that is being made out of another connection's.
    static func unfinished(like connection: Connection) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        configuration.enforcesForeignKeys = false
        configuration.busyTimeout = connection.configuration.busyTimeout
        configuration.prepare = connection.configuration.preparingOnly
        return configuration
    }
}

extension Connection {
    func requireSchema(_ schema: String) throws(DatabaseError) {
        guard try attachedDatabases().contains(where: { $0.name.lowercased() == schema.lowercased() }) else { throw .noSchema(schema) }
    }

    /// Throws if a page is damaged or the structure is. Foreign keys may point nowhere in a sound database.
    func requireSound(_ what: String) throws(DatabaseError) {
        let problem = try verify().problems.first {
            if case .foreignKey = $0 { false } else { true }
        }
        guard let problem else { return }
        throw DatabaseError(code: .corrupt, reason: .conversionFailed, message: "\(what) is damaged: \(problem)", path: location.path)
    }

    /// Throws if a half-done change to a file could not be undone.
    func requireJournal(_ schema: String) throws(DatabaseError) {
        let mode = try fetchOne(String.self, SQL(raw: "PRAGMA \(schema.quotedSQLIdentifier).journal_mode"))
        let hasFile = try attachedDatabases().contains { $0.name.lowercased() == schema.lowercased() && $0.path != nil }
        if mode == "off" || (mode == "memory" && hasFile) {
            throw .misuse("the database \(schema) is in journal mode \(mode ?? ""): a copy that is cut off could not be undone")
        }
    }
}
