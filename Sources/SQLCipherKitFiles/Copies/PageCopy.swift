import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Copies the pages of a database over another one, step by step (<https://sqlite.org/c3ref/backup_finish.html>).
///
/// The target is locked from the first step to the last, and the copy is one transaction.
struct PageCopy {
    private let source: Schema
    private let target: Schema
    private let options: Schema.BackupOptions
    private let relay: ProgressRelay?
    private let reportsEnd: Bool

    /// - Parameter reportsEnd: whether the copy is the last part of the work, so that its end is reported.
    init(
        from source: Schema, to target: Schema, _ options: Schema.BackupOptions, _ relay: ProgressRelay?, reportsEnd: Bool = true
    ) {
        self.source = source
        self.target = target
        self.options = options
        self.relay = relay
        self.reportsEnd = reportsEnd
    }

    func run() throws {
        let connection = source.connection
        let from = try connection.liveForUse(), to = try target.connection.liveForUse()
        guard options.pagesPerStep > 0 else {
            throw DatabaseError.invalidArgument("a backup must copy at least 1 page per step, and not \(options.pagesPerStep)")
        }
        if sqlite3_txn_state(from, source.name) == SQLITE_TXN_WRITE {
            throw DatabaseError.misuse("the database \(source.name) has uncommitted changes: commit before a backup")
        }
        // A write-ahead log keeps the snapshot of the first read, however long the copy takes.
        if try source.hasWAL, !connection.isInTransaction {
            try connection.withSnapshot {
                try read()
                try copy(from, to, mayRestart: false)
            }
        } else {
            // An open transaction has its own snapshot, which begins with its first read.
            if connection.isInTransaction { try read() }
            try copy(from, to, mayRestart: !connection.isInTransaction)
        }
        target.connection.changedWithoutHook()
    }

    private func read() throws {
        _ = try source.connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(source.quotedName).sqlite_schema"))
    }

    private func copy(_ from: OpaquePointer, _ to: OpaquePointer, mayRestart: Bool) throws {
        let version = try target.schemaVersion
        guard let backup = sqlite3_backup_init(to, target.name, from, source.name) else {
            throw target.connection.failure(sqlite3_extended_errcode(to))
        }
        do { try copy(backup, from, to, mayRestart: mayRestart) } catch {
            let wasEnding = sqlite3_backup_remaining(backup) <= 1
            // Before the last step, this undoes what was written.
            sqlite3_backup_finish(backup)
            // If an error occurs after the commit, while the file is truncated to its size, the copy is complete.
            guard wasEnding, try isComplete(after: version, error) else { throw error }
            return
        }
        sqlite3_backup_finish(backup)
    }

    /// Returns whether the copy is complete despite an error: each copy increments the target's schema version.
    private func isComplete(after version: Int, _ error: any Error) throws -> Bool {
        do { return try target.schemaVersion == version &+ 1 } catch let second {
            // A new file is discarded in any case.
            guard reportsEnd, let error = error as? DatabaseError else { return false }
            let path = try? target.path
            throw DatabaseError(
                code: error.code, reason: .unknownOutcome,
                message: "the last step of the copy failed (\(error.message)), and the database could not be read again to find "
                    + "out whether it holds the copy or its former content (\(DatabaseError(wrapping: second).message))",
                    path: path, underlying: error)
        }
    }

    private func copy(_ backup: OpaquePointer, _ from: OpaquePointer, _ to: OpaquePointer, mayRestart: Bool) throws {
        var left = Int32.max, restarts = 0
        while try step(backup, from, to) {
            let remaining = sqlite3_backup_remaining(backup)
            if remaining >= left { restarts += 1 }
            left = remaining
            if mayRestart, restarts == 3 {
                // Other connections write faster than this copies. Finish with a read lock, and without pauses, because they have
                // to wait.
                try source.connection.withSnapshot {
                    try read()
                    while try step(backup, from, to) {}
                }
                return
            }
            try pause(from, to)
        }
    }

    /// Copies some pages. Returns false if they were the last ones and the target's transaction is committed.
    ///
    /// The first step copies none but determines their number. The last step copies one page and commits, so that the end is
    /// reported to the handler while it may still throw.
    private func step(_ backup: OpaquePointer, _ from: OpaquePointer, _ to: OpaquePointer) throws -> Bool {
        try checkCancellation(from, to)
        let left = sqlite3_backup_remaining(backup), total = Int(sqlite3_backup_pagecount(backup))
        if left == 1, reportsEnd { try report(total, of: total) }
        let rc = sqlite3_backup_step(backup, left > 1 ? min(Int32(clamping: options.pagesPerStep), left - 1) : left)
        guard rc == SQLITE_OK || rc == SQLITE_DONE else { throw failure(rc) }
        guard rc == SQLITE_OK else { return false }
        let remaining = Int(sqlite3_backup_remaining(backup)), pages = Int(sqlite3_backup_pagecount(backup))
        if left > 0 { try report(pages - remaining, of: pages) }
        return true
    }

    private func report(_ done: Int, of total: Int) throws {
        guard let relay else { return }
        guard relay.report(done: done, total: total) else { throw relay.error ?? CancellationError() }
        guard source.connection.isOpen, target.connection.isOpen else { throw DatabaseError.closedConnection }
    }

    /// The steps run no statement that an interrupt would stop, so check the flag, which stays set until the next statement.
    private func checkCancellation(_ from: OpaquePointer, _ to: OpaquePointer) throws {
        try Task.checkCancellation()
        for connection in [source.connection, target.connection] {
            if connection.mustStop { throw connection.refusal() }
            _ = try connection.live()
        }
        if sqlite3_is_interrupted(from) != 0 || sqlite3_is_interrupted(to) != 0 {
            throw DatabaseError(code: .interrupted, message: "the backup was interrupted")
        }
    }

    /// Pauses to leave the disk to other work. A cancellation ends the pause.
    private func pause(_ from: OpaquePointer, _ to: OpaquePointer) throws {
        let end = Deadline.after(options.pause)
        while case let left = end - .now, left > .zero {
            Thread.sleep(forTimeInterval: min(left, .milliseconds(20)) / .seconds(1))
            try checkCancellation(from, to)
        }
    }

    /// The error for a step's code, which is not among the connections' last errors.
    private func failure(_ rc: Int32) -> DatabaseError {
        if let error = source.connection.takeCallbackError(rc) ?? target.connection.takeCallbackError(rc) { return error }
        let error = DatabaseError(rc: rc, database: nil)
        guard error.reason == .busy || error.code.primary == .locked else { return error }
        return DatabaseError(code: error.code, reason: .busy, message: "another connection uses the database: \(error.message)")
    }
}

extension Schema {
    fileprivate var schemaVersion: Int {
        get throws { try connection.fetchOne(Int.self, SQL(raw: "PRAGMA \(quotedName).schema_version")) ?? 0 }
    }
}
