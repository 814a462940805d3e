import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// Erases deleted content from a database: first inside stored values, then on the pages, then in the log or the journal.
struct Erasure {
    private let schema: Schema
    private let progress: DatabaseProgress.Handler?
    private var connection: Connection { schema.connection }

    init(of schema: Schema, _ progress: DatabaseProgress.Handler?) {
        self.schema = schema
        self.progress = progress
    }

    func run() throws -> Schema.ErasureReport {
        try schema.requireRewritable()
        if schema.isSame(as: connection.temp) {
            throw DatabaseError.misuse("temporary tables are in memory: there is nothing to erase")
        }
        try schema.entriesToRun()
        try requireItsPlace()
        var report = Schema.ErasureReport()
        let path = try schema.path
        if let path { AtomicFile.removeRemains(of: path, isOpen: true) }
        let pages = try schema.pageCount
        let reporter = progress.map { RewriteReporter($0, on: connection, total: max(1, pages)) }

        let settings = try KeptSettings(of: connection)
        defer { settings.putBack() }
        try schema.setSynchronous(.extra)
        let isLogged = try schema.hasWAL
        report.journalBytes = Self.size(path, "-journal") + (isLogged ? Self.size(path, "-wal") : 0)
        let journal = try isLogged ? nil : replaceJournal()
        defer { schema.restoreJournal(journal) }
        if isLogged { try emptyLog("nothing has changed") }

        report.freePages = try schema.freePageCount
        let before = "the indexes may have been rewritten, but not the pages"
        try explaining("nothing has changed") {
            try connection.transaction(.exclusive) { _ -> Void in
                // A log has replaced the journal. No other connection can switch back to a journal while this one is open.
                if isLogged, let path { unlink(path + "-journal") }
                try ContentErasure(of: schema, reporter).run(&report)
                try reporter?.report(pages / 2)
            }
        }
        try explaining(before) { try schema.vacuumPages() }
        if isLogged { try emptyLog("the pages are rewritten, but their former content is still in the log: erase again") }
        try requireItsPlace()
        report.pages = try schema.pageCount
        // The erasure cannot be undone any more, so ignore errors from the handler.
        try? reporter?.finish()
        return report
    }

    /// Replaces journal modes that cannot undo changes, or that leave the journal file, with one that removes it.
    /// - Returns: the mode for `restoreJournal`.
    private func replaceJournal() throws -> String? {
        guard let mode = try schema.journalModeName, try schema.path != nil, mode != "delete" else {
            return try schema.replaceJournal()
        }
        // When it changes from `persist` to the next mode, SQLite removes a journal that another connection has kept.
        if mode == "off" || mode == "memory" {
            try connection.execute(SQL(raw: "PRAGMA \(schema.quotedName).journal_mode = persist"))
        }
        try schema.setRollbackJournal()
        return mode
    }

    /// Moves the whole log into the database, truncates it to zero bytes and flushes that to disk.
    private func emptyLog(_ state: String) throws {
        try explaining(state) { _ = try schema.checkpoint(.truncate) }
        guard let path = try schema.path else { return }
        // SQLite takes no locks on this file, so closing it releases none.
        let file = SystemFile.open(path + "-wal", O_RDWR, isAlone: false)
        guard file >= 0 else { return }
        defer { close(file) }
        guard AtomicFile.sync(file) else {
            throw DatabaseError(code: .ioError, message: "the log of \(path) cannot be flushed to disk; \(state)", path: path)
        }
    }

    /// Throws if the database's file was replaced: a file with a different name, or none, would be erased.
    private func requireItsPlace() throws {
        guard try schema.wasReplaced else { return }
        throw DatabaseError(
            code: .readOnlyMoved, reason: .conversionFailed,
            message: "the database's file was replaced since this connection opened it: open it again")
    }

    private func explaining(_ state: String, _ body: () throws -> Void) throws {
        do { try body() } catch let error as DatabaseError where error.reason == .busy {
            throw DatabaseError(
                code: error.code, reason: .busy, message: "another connection uses the database (\(error.message)): \(state)",
                path: try schema.path)
        }
    }

    private static func size(_ path: String?, _ suffix: String) -> Int {
        var info = stat()
        guard let path, lstat(path + suffix, &info) == 0 else { return 0 }
        return Int(info.st_size)
    }
}

extension Schema {
    /// Rewrites the database so that deleted content can no longer be read from its files, with or without the key.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM note WHERE id = \(id)")
    /// let report = try db.main.eraseDeletedContent()
    /// print(report.pages, report.fullTextIndexes, report.isComplete)
    /// ```
    /// `DELETE` leaves a row's bytes in its page, in the indexes of full-text search, in the samples of `ANALYZE`, and in the log
    /// or the journal. This method rewrites full-text indexes without the words of deleted rows, clears the unused bytes in R-Tree
    /// nodes, replaces existing samples, rewrites every page as ``vacuum()`` does, and empties the write-ahead log or removes the
    /// journal. Files that a killed process left next to the database are removed too. Rows keep their ids.
    ///
    /// The new pages are flushed to disk. Other copies are not erased: earlier backups, exports and changesets, snapshots of the
    /// file system, and blocks that the file system or the drive has freed without wiping them. To protect against these, change
    /// the key. ``findRemnants(of:progress:)`` tells whether given content is still in the files.
    ///
    /// Erasing takes as long as rebuilding the full-text indexes plus a vacuum. The indexes and the pages are rewritten in two
    /// transactions: after an error, or if the process ends, the content is unchanged, but the indexes may have been rewritten.
    /// - Parameter progress: called before each full-text index, before the pages are rewritten, and with all pages done. If it
    ///   throws before the last call, nothing is changed, and this method throws the same error.
    /// - Returns: a report of the tables and indexes that were rewritten or could not be rewritten.
    /// - Throws: ``DatabaseError/Reason/misuse`` in a transaction, while a result is being read, on a read-only database and for
    ///   `temp`, which is never in a file; ``DatabaseError/Reason/busy`` if another connection reads or writes for longer than the
    ///   busy timeout; the message then says whether the pages have already been rewritten; ``DatabaseError/Reason/schemaName``;
    ///   ``DatabaseError/Reason/malformedSchema`` before anything is changed; or an error from SQLite, for instance for an unknown
    ///   tokenizer.
    @discardableResult
    public func eraseDeletedContent(progress: DatabaseProgress.Handler? = nil) throws -> ErasureReport {
        try connection.usingExclusively { try Erasure(of: self, progress).run() }
    }
}

extension Schema {
    /// The report of ``Schema/eraseDeletedContent(progress:)``.
    public struct ErasureReport: Hashable, Sendable {
        /// The number of pages that the database has now. All of them were written.
        public internal(set) var pages = 0
        /// The number of free pages that the database had before.
        public internal(set) var freePages = 0
        /// The full-text tables (FTS5, FTS4, FTS3) whose indexes were rewritten.
        public internal(set) var fullTextIndexes: [String] = []
        /// The R-Trees that had bytes of deleted entries in their nodes.
        public internal(set) var trees: [String] = []
        /// The tables and indexes for which `ANALYZE` took new samples, as the previous samples contained their values.
        public internal(set) var analyzedTables: [String] = []
        /// The number of bytes removed from the write-ahead log or the rollback journal, without the bytes of the rewrite itself.
        public internal(set) var journalBytes = 0
        /// The full-text tables with external content that have an index that does not match the content. Words deleted from the
        /// content but not from the index are still in the index: call ``FullTextIndex/rebuild()`` and erase again.
        public internal(set) var unmatchedIndexes: [String] = []
        /// Virtual tables of modules other than FTS3 to FTS5 and R-Tree. The tables that hold their data were rewritten unchanged:
        /// remains of deleted rows that a module left in these tables are not erased.
        public internal(set) var otherVirtualTables: [String] = []

        /// True if all deleted content of the database was erased.
        public var isComplete: Bool { unmatchedIndexes.isEmpty && otherVirtualTables.isEmpty }
    }
}

extension SharedSchema {
    /// Rewrites the database so that deleted content can no longer be read from its files, while no other call has a connection of
    /// the queue or the pool. Calls made in the meantime wait.
    /// - Parameters:
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/eraseDeletedContent(progress:)``.
    /// - Returns: a report of the tables and indexes that were rewritten or could not be rewritten.
    /// - Throws: the errors of ``Schema/eraseDeletedContent(progress:)``; ``DatabaseError/Reason/busy`` only because of connections
    ///   outside the queue or the pool; ``DatabaseError/Reason/timeout``.
    @discardableResult
    public func eraseDeletedContent(
        timeout: Duration? = nil, progress: DatabaseProgress.Handler? = nil
    ) throws -> Schema.ErasureReport {
        try database.rewrite(.idleReaders, timeout, progress, erasing)
    }

    /// The asynchronous form. If the task is cancelled, the call ends as if `progress` had thrown.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    @discardableResult
    public func eraseDeletedContent(
        timeout: Duration? = nil, progress: sending DatabaseProgress.Handler? = nil
    ) async throws -> Schema.ErasureReport { try await database.rewrite(.idleReaders, timeout, progress, erasing) }

    private var erasing: RewriteStep<Schema.ErasureReport> {
        { slot, limits, progress in
            try database.snapshots.endAll(because: "the database was erased", limits)
            return try slot.run(.unrestricted) { db in
                defer { database.observers.logsWereReset(db) }
                return try db.schema(name).eraseDeletedContent(progress: progress)
            }
        }
    }

    /// Reports where texts or bytes are still present in the files of the database.
    /// - Parameters:
    ///   - values: as in ``Schema/findRemnants(of:progress:)``.
    ///   - timeout: how long the call may take. Default: nil, no limit.
    ///   - progress: as in ``Schema/findRemnants(of:progress:)``.
    /// - Throws: the errors of ``Schema/findRemnants(of:progress:)``; ``DatabaseError/Reason/timeout``.
    public func findRemnants<Value: SQLValueConvertible>(
        of values: [Value], timeout: Duration? = nil, progress: DatabaseProgress.Handler? = nil
    ) throws -> Schema.RemnantReport { try database.rewrite(.writer, timeout, progress, searching(for: values)) }

    /// The asynchronous form.
    /// - Throws: the errors of the synchronous form; `CancellationError` when the task is cancelled.
    public func findRemnants<Value: SQLValueConvertible>(
        of values: [Value], timeout: Duration? = nil, progress: sending DatabaseProgress.Handler? = nil
    ) async throws -> Schema.RemnantReport {
        try await database.rewrite(.writer, timeout, progress, searching(for: values))
    }

    /// Uses the writer, so that the log does not grow in the meantime.
    private func searching(for values: [some SQLValueConvertible]) throws -> RewriteStep<Schema.RemnantReport> {
        var wanted: [SQLValue] = []
        for value in values { wanted.append(try value.sqlValue) }
        return { [wanted] slot, _, progress in
            try slot.run(.unrestricted) { db in try db.schema(name).findRemnants(of: wanted, progress: progress) }
        }
    }
}
