import Foundation
import SQLCipherKitCore

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
        of source: Schema, key: Encryption, pageSize: Int? = nil, progress: RewriteProgress.Handler?
    ) throws {
        // SQLite's own path of the file: absolute and without symbolic links.
        guard let path = try source.path else {
            throw DatabaseError.misuse("the database \(source.name) has no file that could be rewritten")
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
        try rewrite.source.connection.usingExclusively { try replace() }
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
