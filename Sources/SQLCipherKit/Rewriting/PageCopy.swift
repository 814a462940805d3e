import CSQLCipher
import Foundation

/// How a database lays its content out on pages: what two databases must share for pages to be copied as they are.
///
/// SQLite would copy between others as well, and write a file that nobody can read.
struct PageLayout: Equatable {
    let isEncrypted: Bool
    let pageSize: Int
    /// The bytes at the end of each page that hold no content, but the initialisation vector and the authentication code.
    let reservedBytes: Int

    init(_ connection: Connection, _ schema: String) throws(DatabaseError) {
        isEncrypted = try connection.cipherInfo(of: schema) != nil
        pageSize = try connection.pageSize(schema)
        var reserved: Int32 = -1
        try connection.check(sqlite3_file_control(connection.live(), schema, SQLITE_FCNTL_RESERVE_BYTES, &reserved))
        reservedBytes = Int(reserved)
    }
}

/// Copies the pages of a database over another one, step by step (<https://sqlite.org/c3ref/backup_finish.html>).
///
/// The target is locked from the first step to the last, and all of it is one transaction.
struct PageCopy {
    private let source: Connection
    private let sourceSchema: String
    private let target: Connection
    private let targetSchema: String
    private let options: BackupOptions
    private let relay: ProgressRelay?

    init(
        _ source: Connection, _ sourceSchema: String, _ target: Connection, _ targetSchema: String, _ options: BackupOptions,
        _ relay: ProgressRelay?
    ) {
        self.source = source
        self.sourceSchema = sourceSchema
        self.target = target
        self.targetSchema = targetSchema
        self.options = options
        self.relay = relay
    }

    func run() throws {
        let from = try source.liveOutsideHooks(), to = try target.liveOutsideHooks()
        guard options.pagesPerStep > 0 else {
            throw DatabaseError.invalidArgument("a backup of \(options.pagesPerStep) pages per step")
        }
        if sqlite3_txn_state(from, sourceSchema) == SQLITE_TXN_WRITE {
            throw DatabaseError.misuse("the database \(sourceSchema) has uncommitted changes: commit before a backup")
        }
        // A write-ahead log keeps the moment of the first read, however long the copy takes.
        if try source.hasWAL(sourceSchema), !source.isInTransaction {
            try source.transaction(.deferred) { _ in
                try read()
                try copy(from, to, mayBeginAnew: false)
            }
        } else {
            // Inside of a transaction its moment counts, which begins with its first read.
            if source.isInTransaction { try read() }
            try copy(from, to, mayBeginAnew: !source.isInTransaction)
        }
        target.changedUnheard()
    }

    private func read() throws(DatabaseError) {
        _ = try source.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(sourceSchema.quotedSQLIdentifier).sqlite_schema"))
    }

    private func copy(_ from: OpaquePointer, _ to: OpaquePointer, mayBeginAnew: Bool) throws {
        guard let backup = sqlite3_backup_init(to, targetSchema, from, sourceSchema) else {
            throw target.failure(sqlite3_extended_errcode(to))
        }
        // Without a last step this undoes what was written.
        defer { sqlite3_backup_finish(backup) }
        var left = Int32.max, restarts = 0
        while try step(backup, from, to) {
            let remaining = sqlite3_backup_remaining(backup)
            if remaining >= left { restarts += 1 }
            left = remaining
            if mayBeginAnew, restarts == 3 {
                // Others write faster than this copies. With a read lock held it comes to an end, and soon, as they are waiting.
                try source.transaction(.deferred) { _ in
                    try read()
                    while try step(backup, from, to) {}
                }
                return
            }
            if options.pause > .zero { pause() }
        }
    }

    /// Copies some pages. False if they were the last ones, and the target's transaction is committed.
    private func step(_ backup: OpaquePointer, _ from: OpaquePointer, _ to: OpaquePointer) throws -> Bool {
        try checkCancellation(from, to)
        let rc = sqlite3_backup_step(backup, Int32(clamping: options.pagesPerStep))
        guard rc == SQLITE_OK || rc == SQLITE_DONE else { throw failure(rc) }
        // The handler may throw until the last step, which nothing can undo.
        guard rc == SQLITE_OK else { return false }
        let total = Int(sqlite3_backup_pagecount(backup))
        if let relay, !relay.report(done: total - Int(sqlite3_backup_remaining(backup)), total: total) {
            throw relay.error ?? CancellationError()
        }
        guard source.isOpen, target.isOpen else { throw DatabaseError.closedConnection }
        return true
    }

    /// The steps run no statement that an interrupt would stop; its flag stays up until the next one.
    private func checkCancellation(_ from: OpaquePointer, _ to: OpaquePointer) throws {
        try Task.checkCancellation()
        for connection in [source, target] where connection.mustStop { throw connection.refusal() }
        _ = (try source.live(), try target.live())
        if sqlite3_is_interrupted(from) != 0 || sqlite3_is_interrupted(to) != 0 {
            throw DatabaseError(code: .interrupted, message: "the backup was interrupted")
        }
    }

    private func pause() {
        let (seconds, attoseconds) = options.pause.components
        Thread.sleep(forTimeInterval: Double(seconds) + Double(attoseconds) / 1e18)
    }

    /// The step's code is not among the connections' last errors.
    private func failure(_ rc: Int32) -> DatabaseError {
        if let error = source.takeCallbackError(rc) ?? target.takeCallbackError(rc) { return error }
        let error = DatabaseError(rc: rc, database: nil)
        guard error.reason == .busy || error.code.primary == .locked else { return error }
        return DatabaseError(code: error.code, reason: .busy, message: "another connection uses the database: \(error.message)")
    }
}
