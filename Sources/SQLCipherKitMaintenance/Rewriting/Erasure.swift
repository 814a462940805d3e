import Foundation
import SQLCipherKitCore

/// Erases deleted content from a database: first inside stored values, then on the pages, then in the log or the journal.
struct Erasure {
    private let schema: Schema
    private let progress: RewriteProgress.Handler?
    private var connection: Connection { schema.connection }

    init(of schema: Schema, _ progress: RewriteProgress.Handler?) {
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
        let reporter = progress.map { RewriteReporter(ProgressRelay($0, on: connection), total: max(1, pages)) }

        let settings = try KeptSettings(of: connection)
        defer { settings.putBack() }
        try schema.setSynchronous(.extra)
        let isLogged = try schema.hasWAL
        report.journalBytes = Self.size(path, "-journal") + (isLogged ? Self.size(path, "-wal") : 0)
        let journal = try isLogged ? nil : replaceJournal()
        defer { schema.restoreJournal(journal) }
        if isLogged { try emptyLog("nothing has changed") }

        report.freePages = try schema.freePageCount
        let before = "the indexes may have been rewritten, the pages not"
        try explaining("nothing has changed") {
            try connection.transaction(.exclusive) { _ -> Void in
                // A log has replaced the journal. No other connection can switch back to a journal while this one is open.
                if isLogged, let path { unlink(path + "-journal") }
                try ContentErasure(of: schema, reporter).run(&report)
                try reporter?.report(pages / 2)
            }
        }
        try explaining(before) { try schema.vacuumPages() }
        if isLogged { try emptyLog("the pages are rewritten, but what they replaced is still in the log: erase again") }
        try requireItsPlace()
        report.pages = try schema.pageCount
        // The erasure cannot be undone any more, so ignore errors from the handler.
        try? reporter?.finish()
        return report
    }

    /// Replaces journal modes that cannot undo changes, or that leave the journal file, with one that removes it.
    /// - Returns: the mode for `restoreJournal`.
    private func replaceJournal() throws(DatabaseError) -> String? {
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
    private func requireItsPlace() throws(DatabaseError) {
        guard try schema.wasReplaced else { return }
        throw DatabaseError(
            code: .readOnlyMoved, reason: .conversionFailed,
            message: "the database's file was replaced by another one since this connection opened it")
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
