import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

extension Schema {
    /// Copies the database to a new file, while other connections may read and write it (<https://sqlite.org/backup.html>).
    ///
    /// ```swift
    /// try db.main.backup(toFileAt: "monday.db")
    /// try db.main.backup(toFileAt: "compact.db", options: .compact)
    /// try db.main.backup(toFileAt: "handover.db", key: otherKey) { progress in
    ///     try Task.checkCancellation()
    ///     print(Int(progress.fractionCompleted * 100), "%")
    /// }
    /// ```
    /// The copy is written under a temporary name, checked page by page, flushed to disk and only then renamed. An unfinished
    /// backup, after an error or when the process ends, can therefore not be mistaken for a complete backup; its remains are
    /// removed by the next backup to that path, or when a database at that path is opened. The copy is one consistent snapshot of
    /// the committed content. With a write-ahead log, that is the snapshot at the time of the call. Without a write-ahead log, a
    /// commit by another connection restarts the copy; after three restarts, the copy blocks writers until it is done.
    ///
    /// Pages are copied in steps if the page size, and the number of bytes that each page reserves for its authentication, are the
    /// same in the database and the backup. Otherwise, and if only one of the two files is encrypted, the copy is made as with
    /// ``Schema/BackupOptions/compact``. Such a copy includes the connection's changes in an open transaction.
    /// - Parameters:
    ///   - path: the new file, which gets permissions 0600 and is in journal mode `delete`.
    ///   - key: how the backup is encrypted, or `.plaintext`. Default: nil, for the key, salt and settings of the database.
    ///   - options: the steps and pauses, whether the copy is compact, and whether it may replace a file.
    ///   - progress: called after each step, and once with all pages done before the file gets its name. If it throws, no backup is
    ///     created, and the call throws the same error. It cannot use this connection.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is already a file of that name or the file cannot be created,
    ///   ``DatabaseError/Reason/misuse`` if pages are copied and the connection has uncommitted changes,
    ///   ``DatabaseError/Reason/busy`` when another connection holds a lock for longer than the busy timeout,
    ///   ``DatabaseError/Reason/conversionFailed`` if the copy does not pass its check, ``DatabaseError/Reason/schemaName``,
    ///   `CancellationError` in a cancelled task, ``ResultCode/interrupted`` after an interrupt, or an error from SQLite such as
    ///   ``ResultCode/full``. In each case a file that was to be replaced is unchanged.
    public func backup(
        toFileAt path: String, key: DatabaseKey? = nil, options: BackupOptions = BackupOptions(),
        progress: DatabaseProgress.Handler? = nil
    ) throws {
        let key = try key ?? encryptionOrPlaintext
        try connection.usingExclusively {
            let key = try connection.refusingUse { try key.resolvedForNewFile() }
            try FileBackup(of: self, to: path, key: key, options, progress).run()
        }
        if options.writesRecoveryCopy { try writeRecoveryCopy() }
    }

    /// Copies the database over a database of another connection, for example an in-memory database. Everything in that database is
    /// replaced in one transaction: after an error, or if the process ends, it is unchanged.
    ///
    /// ```swift
    /// let copy = try Connection(.memory, key: key)
    /// try db.main.backup(to: copy.main)
    /// ```
    /// The other database keeps its own key, settings and journal mode. Until the copy is complete, the other connections to that
    /// database see the old content or find the database busy. If that database lays out its pages differently, or if the copy is
    /// compact, the copy is made through a temporary file in the same folder with the same encryption, or through memory if that
    /// database has no file.
    /// - Parameters:
    ///   - target: the database to replace. It must belong to another connection.
    ///   - options: as for ``backup(toFileAt:key:options:progress:)``.
    ///   - progress: as for ``backup(toFileAt:key:options:progress:)``; it cannot use the target's connection either.
    /// - Throws: the same errors as ``backup(toFileAt:key:options:progress:)``; ``DatabaseError/Reason/misuse`` also if the target
    ///   is in a transaction, is being read or is read-only, or has tables and keeps its text in another encoding. In all cases
    ///   nothing has changed, unless the reason is ``DatabaseError/Reason/unknownOutcome``.
    public func backup(
        to target: Schema, options: BackupOptions = BackupOptions(), progress: DatabaseProgress.Handler? = nil
    ) throws {
        try live()
        try target.requireRewritable()
        if target.connection === connection { throw DatabaseError.misuse("a backup needs another connection for its target") }
        try requireEncoding(of: target)
        try connection.usingExclusively(with: target.connection) {
            let journal = try target.replaceJournal()
            defer { target.restoreJournal(journal) }
            // The target keeps its own record of its key slots. If the target is damaged, the record is lost with the rest.
            let mark = Result { try target.slotMark() }
            try copy(to: target, options, progress)
            // If the process ends here, the next connection finds slots that are not the latest, which the caller can accept.
            if case .success(let mark) = mark { try? target.putBack(mark) }
        }
    }

    /// A connection has one encoding, which is fixed by the first table that it reads, and a copy converts no text.
    private func requireEncoding(of target: Schema) throws {
        let isAttached = target.name != "main"
        let tables: SQL = "SELECT 1 FROM \(identifier: target.name).sqlite_schema"
        let ask: SQL = "SELECT encoding FROM pragma_encoding WHERE \(isAttached) OR EXISTS (\(tables))"
        // A damaged database is replaced as well.
        guard let encoding = try? target.connection.fetchOne(String.self, ask) else { return }
        if try pragma("encoding", as: String.self) != encoding {
            throw DatabaseError.misuse("the two databases store text in different encodings")
        }
    }

    private func copy(to target: Schema, _ options: BackupOptions, _ progress: DatabaseProgress.Handler?) throws {
        if try !options.isCompact && PageLayout(self) == PageLayout(target) {
            return try PageCopy(from: self, to: target, options, progress.map { ProgressRelay($0, on: connection) }).run()
        }
        var steps = options
        steps.isCompact = false
        // The steps that follow report what is done.
        let total = try pageCount
        let asking: DatabaseProgress.Handler = { _ in
            try Task.checkCancellation()
            try progress?(DatabaseProgress(done: 0, total: total))
        }
        guard let path = try target.path else {
            var configuration = DatabaseConfiguration.forCopy(of: connection)
            // The page size of an encrypted database is that of its settings.
            configuration.beforeHeader = try shape(pageSize: target.encryptionOrPlaintext.isPlaintext ? target.pageSize : nil)
            let copy = try Connection(.memory, key: target.encryptionOrPlaintext, configuration: configuration)
            try connection.savepoint { _ in
                let reporter = RewriteReporter(asking, on: connection, total: total)
                try DatabaseCopy(from: self, to: copy, reporter).run()
                try DatabaseComparison(of: self, with: copy, reporter).run()
            }
            return try copy.main.backup(to: target, options: steps, progress: progress)
        }
        // The file is compared with this database row by row before anything in the target is replaced.
        let file = try AtomicFile(for: path)
        defer { file.discard() }
        let encryption = try target.encryptionOrPlaintext
        let rewrite = try DatabaseRewrite(of: self, path: path, key: encryption, pageSize: target.pageSize, asking)
        try connection.savepoint { _ in try rewrite.write(to: file) {} }
        let copy = try Connection(.file(file.temporaryPath), key: encryption, configuration: .forReading(with: connection))
        defer { copy.close() }
        try copy.main.backup(to: target, options: steps, progress: progress)
    }
}

/// A backup to a file, which is written under a temporary name, checked, flushed and then renamed.
struct FileBackup {
    private let source: Schema
    private let path: String
    private let encryption: DatabaseKey
    private let options: Schema.BackupOptions
    private let progress: DatabaseProgress.Handler?

    init(
        of source: Schema, to path: String, key: DatabaseKey, _ options: Schema.BackupOptions, _ progress: DatabaseProgress.Handler?
    ) throws {
        try source.live()
        self.source = source
        self.path = try Paths.file(path, of: "the backup")
        encryption = try key.resolvedForNewFile()
        self.options = options
        self.progress = progress
    }

    func run() throws {
        AtomicFile.removeRemains(of: path)
        try checkDestination()
        if try options.isCompact || !copyPages() { try copyRows() }
    }

    /// Copies the pages unchanged.
    /// - Returns: false, without having done anything, if the file's encryption needs a different page layout.
    private func copyPages() throws -> Bool {
        let file = try AtomicFile(for: path)
        var configuration = DatabaseConfiguration.forCopy(of: source.connection)
        let layout = try PageLayout(source)
        if !layout.isEncrypted, encryption.isPlaintext {
            configuration.beforeHeader = { try $0.execute(SQL(raw: "PRAGMA page_size = \(layout.pageSize)")) }
        }
        var relay: ProgressRelay?
        do {
            let copy = try Connection(.file(file.temporaryPath), key: encryption, configuration: configuration)
            defer { copy.close() }
            guard try PageLayout(copy.main) == layout else {
                copy.close()
                file.discard()
                return false
            }
            relay = progress.map { ProgressRelay($0, on: source.connection) }
            try copy.disableJournal()
            try PageCopy(from: source, to: copy.main, options, relay, reportsEnd: false).run()
        }
        // Use a new connection, which opens the backup like any reader.
        do {
            let copy = try Connection(.file(file.temporaryPath), key: encryption, configuration: configuration)
            defer { copy.close() }
            try copy.main.setJournalMode(.delete)
            let total = try copy.main.pageCount
            try copy.ending(with: source.connection) { [progress] in
                try Task.checkCancellation()
                try progress?(DatabaseProgress(done: max(0, total - 1), total: total))
            } _: { try copy.main.requireIntact("the backup") }
        }
        try file.flush()
        if let relay, !relay.finish() { throw relay.error ?? CancellationError() }
        try checkDestination()
        try file.publish(replacing: options.replacesFile)
        return true
    }

    private func copyRows() throws {
        let file = try AtomicFile(for: path)
        let rewrite = DatabaseRewrite(of: source, path: path, key: encryption, pageSize: nil, progress)
        // Use the same snapshot of the database for the copy and for the comparison.
        try source.connection.savepoint("backup") { _ in try rewrite.write(to: file) { try file.flush() } }
        try checkDestination()
        try file.publish(replacing: options.replacesFile)
    }

    /// Throws if the destination cannot be used. An existing journal or log of that name would be applied to the new file.
    private func checkDestination() throws {
        var info = stat()
        if !options.replacesFile, lstat(path, &info) == 0 {
            throw DatabaseFile.cannotOpen(path, "there is a file of that name already")
        }
        for suffix in ["-journal", "-wal"] where lstat(path + suffix, &info) == 0 {
            throw DatabaseFile.cannotOpen(
                path, "\(path + suffix) shows that a database of that name is in use, or was when its process died")
        }
        guard lstat(path, &info) == 0 else { return }
        if info.st_mode & S_IFMT != S_IFREG { throw DatabaseFile.cannotOpen(path, "it is not a regular file") }
        for open in try source.connection.schemas() {
            var used = stat()
            if let file = try open.path, stat(file, &used) == 0, used.st_ino == info.st_ino, used.st_dev == info.st_dev {
                throw DatabaseFile.cannotOpen(path, "it is the database itself, or another database of the connection")
            }
        }
    }
}

extension Schema {
    /// The options of a backup.
    public struct BackupOptions: Hashable, Sendable {
        /// The number of pages to copy in one step; other connections may write between two steps. Default: 1,024, which is 4 MB
        /// with SQLCipher's page size.
        public var pagesPerStep = 1024
        /// The pause between two steps, during which the disk and the processor are free for other work. Default: zero.
        public var pause: Duration = .zero
        /// True if a backup to a file may replace a file of the same name, which stays unchanged until the new file is complete. No
        /// connection may have that file open, because the connection would not notice the replacement. Default: false.
        public var replacesFile = false
        /// True to write the copy row by row: see ``compact``.
        package var isCompact = false

        /// True to also write a recovery copy of the database that is backed up, beside that database
        /// (``Schema/writeRecoveryCopy(toFileAt:)``). Default: false.
        public var writesRecoveryCopy = false

        /// The defaults.
        public init() {}

        /// The defaults, except that the copy is written row by row instead of page by page. It then has no free pages, the pages
        /// of each table are contiguous, and it is compared with the database row by row. Row ids are kept. The copy is made in one
        /// transaction, and the options for steps have no effect.
        ///
        /// Use this instead of SQLite's `VACUUM INTO`, which always uses the default cipher settings and writes a file that does
        /// not open if the database has other settings.
        public static var compact: BackupOptions {
            var options = BackupOptions()
            options.isCompact = true
            return options
        }
    }
}

/// Backup and restore while other calls run.
extension SharedSchema {
    /// Copies the database, as it is when the call begins, into a new file. A pool continues to write and to read in the meantime.
    ///
    /// ```swift
    /// try await pool.main.backup(toFileAt: "monday.db", timeout: .seconds(60))
    /// ```
    /// - Parameters:
    ///   - path: as in ``Schema/backup(toFileAt:key:options:progress:)``.
    ///   - key: how the backup is encrypted; nil, the default, for the encryption of the database.
    ///   - options: as in ``Schema/backup(toFileAt:key:options:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/backup(toFileAt:key:options:progress:)``.
    /// - Throws: the errors of ``Schema/backup(toFileAt:key:options:progress:)``; ``DatabaseError/Reason/timeout``. There is no
    ///   backup then.
    public func backup(
        toFileAt path: String, key: DatabaseKey? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: DatabaseProgress.Handler? = nil
    ) throws {
        let path = try Paths.file(path, of: "the backup")
        try database.read(timeout: timeout) { db in
            try db.schema(name).backup(toFileAt: path, key: key, options: options, progress: progress)
        }
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func backup(
        toFileAt path: String, key: DatabaseKey? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: sending DatabaseProgress.Handler? = nil
    ) async throws {
        // Sent on.
        nonisolated(unsafe) let progress = progress
        let path = try Paths.file(path, of: "the backup")
        try await database.read(timeout: timeout) { [name] db in
            try db.schema(name).backup(toFileAt: path, key: key, options: options, progress: progress)
        }
    }

    /// Replaces the whole content of the database with the content of a backup. Other writes wait; a pool's reads continue, and see
    /// the old content until the call is done.
    /// - Parameters:
    ///   - path: as in ``Schema/restore(fromFileAt:key:options:progress:)``.
    ///   - key: how the backup is encrypted; nil, the default, for the encryption of the database.
    ///   - options: as in ``Schema/restore(fromFileAt:key:options:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/restore(fromFileAt:key:options:progress:)``.
    /// - Throws: the errors of ``Schema/restore(fromFileAt:key:options:progress:)``; ``DatabaseError/Reason/timeout``.
    public func restore(
        fromFileAt path: String, key: DatabaseKey? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: DatabaseProgress.Handler? = nil
    ) throws {
        try database.rewrite(.writer, timeout, progress, restoring(path, key, options))
    }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func restore(
        fromFileAt path: String, key: DatabaseKey? = nil, options: Schema.BackupOptions = .init(), timeout: Duration? = nil,
        progress: sending DatabaseProgress.Handler? = nil
    ) async throws {
        try await database.rewrite(.writer, timeout, progress, restoring(path, key, options))
    }

    private func restoring(_ path: String, _ key: DatabaseKey?, _ options: Schema.BackupOptions) -> RewriteStep<Void> {
        let path = Paths.absolute(path)
        return { slot, _, progress in
            try slot.run(.unrestricted) { db in
                try db.schema(name).restore(fromFileAt: path, key: key, options: options, progress: progress)
            }
        }
    }
}

extension SharedSchema {
    /// Writes the recovery copy now, and again after each change of the schema through this queue or pool, until the task is
    /// cancelled.
    ///
    /// ```swift
    /// let keeping = Task { try await pool.main.keepRecoveryCopy() }
    /// ```
    /// A change by another process is noticed with the next change here.
    /// - Parameter path: as for ``Schema/writeRecoveryCopy(toFileAt:)``.
    /// - Throws: the errors of ``Schema/writeRecoveryCopy(toFileAt:)``, and ``DatabaseError/Reason/closed`` when the database is
    ///   closed.
    public func keepRecoveryCopy(toFileAt path: String? = nil) async throws {
        let path = try path.map { try Paths.file($0, of: "the recovery copy") }
        let written = database.observe { [name] db in try db.schema(name).writeRecoveryCopy(toFileAt: path) }
        for try await _ in written {}
    }
}
