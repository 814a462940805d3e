import Foundation
import SQLCipherKitCore

/// Writes a database to a new file with any encryption, and compares the two.
struct DatabaseRewrite {
    let source: Schema
    /// The final path of the file, for errors.
    let path: String
    let encryption: DatabaseKey
    /// The new file's page size; nil for the settings' own, or the source's if it will be plaintext.
    let pageSize: Int?
    private let progress: DatabaseProgress.Handler?

    init(of source: Schema, path: String, key: DatabaseKey, pageSize: Int?, _ progress: DatabaseProgress.Handler?) {
        self.source = source
        self.path = path
        self.pageSize = pageSize
        self.progress = progress
        encryption = key
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
        do { copy = try Connection(.file(new), key: encryption, configuration: configuration) } catch let error as DatabaseError {
            throw DatabaseError(
                code: error.code, reason: .conversionFailed,
                message: "the new file does not open: \(error.message); the old file stays", path: path)
        }
        defer { copy.close() }
        if hasWAL { try copy.execute("PRAGMA journal_mode = WAL") }
        try DatabaseComparison(of: source, with: copy, reporter).run()
    }

    private func makeReporter() throws -> RewriteReporter? {
        guard let progress else { return nil }
        let sourcePageSize = try source.pageSize
        let targetPageSize = encryption.isPlaintext ? pageSize ?? sourcePageSize : encryption.settings.pageSize
        let pages = try source.pageCount * sourcePageSize / targetPageSize
        return RewriteReporter(progress, on: source.connection, total: max(1, pages))
    }
}

/// Replaces a database's file with one that is encrypted differently. A new file in the same folder is written, compared with the
/// old one, flushed to disk and then renamed over it, all under the old file's exclusive lock.
///
/// Until the rename, nothing is written to the old file, except that a write-ahead log is merged into it. If the process dies, it
/// leaves the old file or the new one, and possibly an unfinished new file, which the next replacement removes.
struct DatabaseReplacement {
    private let rewrite: DatabaseRewrite
    /// The old file's permissions and owner.
    private let original: stat

    /// - Throws: ``DatabaseError/Reason/misuse`` for a database without a file, or a file without write permission.
    init(
        of source: Schema, key: DatabaseKey, pageSize: Int? = nil, progress: DatabaseProgress.Handler?
    ) throws {
        // SQLite's own path of the file: absolute and without symbolic links.
        guard let path = try source.path else {
            throw DatabaseError.misuse("the database \(source.name) has no file to rewrite")
        }
        let key = try key.resolvedForNewFile()
        var original = stat()
        guard stat(path, &original) == 0 else { throw DatabaseFile.cannotOpen(path, String(cString: strerror(errno))) }
        // A rename requires no write permission for the file itself, so check that here.
        guard original.st_mode & 0o222 != 0, access(path, W_OK) == 0 else {
            throw DatabaseError(code: .readOnly, reason: .misuse, message: "the file \(path) is read-only", path: path)
        }
        self.original = original
        rewrite = DatabaseRewrite(of: source, path: path, key: key, pageSize: pageSize, progress)
    }

    /// Replaces the file. If this throws, the old file is unchanged. Afterwards the connection still has the old file open, which
    /// no longer has a name, and must close or detach it.
    func run() throws {
        try rewrite.source.connection.usingExclusively {
            // The change of the journal mode waits for the disk, whatever the durability is: it writes the old file's first page.
            let settings = try KeptSettings(of: rewrite.source.connection)
            defer { settings.putBack() }
            try rewrite.source.setSynchronous(.extra)
            try replace()
        }
    }

    private func replace() throws {
        let source = rewrite.source, path = rewrite.path
        let journal = try source.unfitJournal
        try source.lockForRewrite(replacing: journal)
        do {
            let file = try AtomicFile(for: path)
            try rewrite.write(to: file, hasWAL: journal == "wal") { try file.flush(like: original) }
            // The old file's journal or log must not be applied to the new one. These files hold nothing that is needed: the log is
            // merged, and a journal left by a crash was rolled back when the lock was taken.
            for suffix in ["-journal", "-wal", "-shm"] { unlink(path + suffix) }
            // After a power failure too: a file system may keep the rename and lose the removals.
            AtomicFile.flushFolder(of: path)
            let notes = try FileNotes.carry(of: path, to: file.temporaryPath)
            do { try file.publish(replacing: true) } catch {
                for change in notes { change.undo() }
                throw error
            }
            for change in notes { change.end() }
        } catch {
            try? source.unlockAfterRewrite(restoring: journal)
            throw error
        }
    }
}

/// Reports to a progress handler how far the copying of a database has got.
final class RewriteReporter {
    private let handler: DatabaseProgress.Handler
    private let relay: ProgressRelay
    private let total: Int
    private var done = 0

    init(_ handler: @escaping DatabaseProgress.Handler, on connection: Connection, total: Int) {
        self.handler = handler
        self.total = total
        relay = ProgressRelay(handler, on: connection)
    }

    /// Reports the number of pages that the copy has so far. Nil repeats the last number, so that the handler has a chance to
    /// cancel.
    /// - Throws: the error that the handler throws.
    func report(_ pages: Int? = nil) throws {
        // The last page is only reported at the end, as the copy may be larger than estimated.
        done = max(done, min(pages ?? 0, total - 1))
        guard relay.report(done: done, total: total) else { throw relay.error ?? CancellationError() }
    }

    /// Repeats the last number from within a callback of SQLite.
    func repeatLast() throws { try handler(DatabaseProgress(done: done, total: total)) }

    /// Reports that all is done.
    func finish() throws {
        guard relay.report(done: total, total: total) else { throw relay.error ?? CancellationError() }
    }
}
