import Foundation

extension DatabaseConverter {
    /// Copies every row of a damaged database that can still be read into a new file.
    ///
    /// ```swift
    /// let report = try DatabaseConverter.salvage(fileAt: "notes.db", key: key, to: "rescued.db")
    /// for table in report.tables where !table.isComplete { print(table.name, table.lostPages) }
    /// ```
    /// The tables' pages are read one by one, past those that are damaged, missing or unreadable, and not through indexes, which
    /// are made again. Everything else is kept as by ``convert(fileAt:from:to:pageSize:configuration:progress:)``: row ids, views,
    /// triggers, virtual tables, `user_version`. A full-text index that has lost pages is built again from its content. A row is
    /// lost if the page that it is on is, or one that leads there, or one that a large value goes on on.
    ///
    /// The first page cannot be lost: it is where the schema begins. If it is, the call says so and makes no file.
    ///
    /// The damaged file is never written. It is copied first, with its journal or write-ahead log, so that the folder of the new
    /// file needs room for two. Close all connections to it.
    /// - Parameters:
    ///   - path: the damaged file.
    ///   - key: how it is encrypted.
    ///   - newPath: the file to make. There must be none of that name.
    ///   - newKey: how the new file is encrypted; nil, the default, for as the damaged one.
    ///   - configuration: its ``DatabaseConfiguration/prepare`` runs on the connections to the new file, for a schema that needs
    ///     functions or collations of yours.
    ///   - progress: called now and then, and once with all done before the file gets its name. If it throws, there is no new file,
    ///     and the call throws the same error.
    /// - Returns: what was copied, and what is lost.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/cannotOpen``, ``ResultCode/corrupt`` if the first page is lost, and what SQLite reports. There is
    ///   no new file then.
    @discardableResult
    public static func salvage(
        fileAt path: String, key: Encryption, to newPath: String, newKey: Encryption? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: RewriteProgressHandler? = nil
    ) throws -> SalvageReport {
        if newPath.isEmpty || newPath.utf8.contains(0) {
            throw DatabaseError.invalidArgument("the path of the new file is empty or contains a NUL character")
        }
        let newPath = URL(fileURLWithPath: newPath).path
        for suffix in ["", "-journal", "-wal"] where DatabaseFile.exists(newPath + suffix) {
            throw DatabaseFile.cannotOpen(newPath, "there is a file \(newPath + suffix) already")
        }
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        _ = try DatabaseFile.prepare(.file(path), reading)
        let resolved = try key.resolved(for: .file(path), reading).key
        let target = try newKey?.resolvedForNewFile() ?? resolved
        let relay = progress.map { ProgressRelay($0, on: nil) }
        let file = try AtomicFile(for: newPath)
        let report: SalvageReport
        do {
            let damaged = try DamagedFileCopy(of: path, at: AtomicFile.workingPath(for: newPath))
            let source = try PageReader(.file(damaged.path), key: resolved, access: .readWrite)
            defer { source.connection.close() }
            report = try Salvage(of: source, path: path, key: resolved, configuration, relay)
                .run(to: file.temporaryPath, key: target)
        }
        try file.flush()
        if let relay, !relay.finish() { throw relay.error ?? CancellationError() }
        try file.publish(replacing: false)
        return report
    }
}
