import SQLCipherKitCore

/// Writes a database row by row to a new file with any encryption, and compares the two.
struct DatabaseRewrite {
    let source: Schema
    /// The final path of the file, for errors.
    let path: String
    let encryption: Encryption
    /// The new file's page size; nil for the settings' own, or the source's if it will be plaintext.
    let pageSize: Int?
    private let relay: ProgressRelay?

    init(of source: Schema, path: String, key: Encryption, pageSize: Int?, _ progress: RewriteProgress.Handler?) {
        self.source = source
        self.path = path
        self.pageSize = pageSize
        encryption = key
        relay = progress.map { ProgressRelay($0, on: source.connection) }
    }

    /// Writes, checks and flushes the file, then reports that all is done, which is the handler's last chance to cancel.
    /// - Parameter flush: flushes the file when it is complete.
    func write(to file: AtomicFile, hasWAL: Bool = false, flush: () throws -> Void) throws {
        let reporter = try makeReporter()
        try copy(to: file.temporaryPath, reporter)
        try check(file.temporaryPath, hasWAL: hasWAL, reporter)
        try flush()
        try reporter?.finish()
    }

    private func copy(to new: String, _ reporter: RewriteReporter?) throws {
        var configuration = DatabaseConfiguration.forCopy(of: source.connection)
        var pageSize: Int?
        // The page size of an encrypted file is that of its settings.
        if encryption.isPlaintext { pageSize = try self.pageSize ?? source.pageSize }
        configuration.beforeHeader = try source.shape(pageSize: pageSize)
        let copy = try Connection(.file(new), key: encryption, configuration: configuration)
        defer { copy.close() }
        try copy.disableJournal()
        try DatabaseCopy(from: source, to: copy, reporter).run()
    }

    /// Opens the new file with a new connection, compares it with the source, and sets its journal mode.
    private func check(_ new: String, hasWAL: Bool, _ reporter: RewriteReporter?) throws {
        let copy: Connection
        let configuration = DatabaseConfiguration.forCopy(of: source.connection)
        do { copy = try Connection(.file(new), key: encryption, configuration: configuration) } catch {
            throw DatabaseError(
                code: error.code, reason: .conversionFailed,
                message: "the new file does not open: \(error.message); the old one stays", path: path)
        }
        defer { copy.close() }
        if hasWAL { try copy.execute("PRAGMA journal_mode = WAL") }
        try DatabaseComparison(of: source, with: copy, reporter).run()
    }

    private func makeReporter() throws(DatabaseError) -> RewriteReporter? {
        guard let relay else { return nil }
        let sourcePageSize = try source.pageSize
        let targetPageSize = encryption.isPlaintext ? pageSize ?? sourcePageSize : encryption.settings.pageSize
        let pages = try source.connection.fetchOne(Int.self, SQL(raw: "PRAGMA \(source.quotedName).page_count")) ?? 0
        return RewriteReporter(relay, total: max(1, pages * sourcePageSize / targetPageSize))
    }
}
