import Foundation
import SQLCipherKitCore

/// A backup to a file, which is written under a temporary name, checked, flushed and then renamed.
struct FileBackup {
    private let source: Schema
    private let path: String
    private let encryption: Encryption
    private let options: Schema.BackupOptions
    private let progress: RewriteProgress.Handler?

    init(
        of source: Schema, to path: String, key: Encryption, _ options: Schema.BackupOptions, _ progress: RewriteProgress.Handler?
    ) throws {
        try source.live()
        self.source = source
        self.path = try DatabaseFile.newPath(path, of: "the backup")
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
            try copy.main.requireIntact("the backup")
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
                throw DatabaseFile.cannotOpen(path, "it is the database itself, or another one of the connection")
            }
        }
    }
}
