import CSQLCipher
import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A database file that is put together from pages beside its final place, and gets its name when it is complete and intact.
///
/// The pages are in a file `NAME-restoring`, encrypted as in the replica. A record in `NAME-restoring-state` has the progress, so
/// that an interrupted restore can continue. Without a record, the pages are deleted with this object.
package final class RestoredFile {
    private let file: AtomicFile
    package let pagesPath: String
    private var pages: OwnFile?
    private var hasRecord: Bool
    /// The last record; nil if the file is empty.
    package private(set) var record: [UInt8]?

    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is a file of that name already and it must not be replaced, or if it
    ///   has a journal or a log, or if the files of an interrupted restore cannot be read; ``DatabaseError/Reason/busy`` while
    ///   another process writes the same file.
    package init(at path: String, replacing: Bool) throws {
        let suffixes = replacing ? ["-journal", "-wal"] : ["", "-journal", "-wal"]
        // An empty log has nothing that could be lost, or be applied to the new file.
        for suffix in suffixes where DatabaseFile.exists(path + suffix) && (suffix == "" || !DatabaseFile.isEmpty(path + suffix)) {
            throw DatabaseFile.cannotOpen(path, "there is a file \(path + suffix) already")
        }
        // Holds the lock that keeps other writers of the file away.
        file = try AtomicFile(for: path)
        pagesPath = path + "-restoring"
        hasRecord = false
        if let record = try OwnFile.contents(of: pagesPath + "-state", isOwn: true), !record.isEmpty {
            pages = OwnFile.open(pagesPath, for: .updating)
            if pages == nil, errno != ENOENT { throw AtomicFile.failure(.cannotOpen, "the pages cannot be read", pagesPath) }
            if pages != nil {
                (self.record, hasRecord) = (record, true)
                // These files are from a process that ended while it checked the pages.
                for suffix in ["-wal", "-journal", "-shm"] { unlink(pagesPath + suffix) }
            }
        }
        if pages == nil { try begin() }
    }

    deinit {
        pages = nil
        if !hasRecord { removePages() }
    }

    /// Begins with an empty file.
    package func begin() throws {
        pages = nil
        (record, hasRecord) = (nil, false)
        // The record is removed first: pages without a record are ignored.
        unlink(pagesPath + "-state")
        AtomicFile.flushFolder(of: pagesPath)
        removePages()
        pages = OwnFile.open(pagesPath, for: .creating)
        if pages == nil { throw AtomicFile.failure(.cannotOpen, "the new file cannot be created", pagesPath) }
        // A record must not be found beside the former pages.
        AtomicFile.flushFolder(of: pagesPath)
    }

    /// Records the progress. All pages written before are then on the disk.
    package func record(_ record: [UInt8]) throws {
        guard pages?.flush() == true else {
            throw AtomicFile.failure(.ioError, "the new file cannot be flushed to disk", pagesPath)
        }
        try OwnFile.replace(pagesPath + "-state", with: record)
        (self.record, hasRecord) = (record, true)
    }

    private func removePages() {
        for suffix in ["", "-wal", "-journal", "-shm", "-state~"] { unlink(pagesPath + suffix) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        guard pages?.write(bytes, at: offset) == true else {
            throw AtomicFile.failure(.ioError, "the new file cannot be written", file.path)
        }
    }

    /// Cuts the file to its final size.
    package func truncate(to size: Int) throws {
        guard let pages, ftruncate(pages.descriptor, off_t(size)) == 0 else {
            throw AtomicFile.failure(.ioError, "the new file cannot be truncated", file.path)
        }
    }

    /// Returns whether ``publish(key:replacing:)`` has found the pages damaged.
    package static func isDamage(_ error: DatabaseError) -> Bool {
        (error.code.primary == .corrupt || error.code.primary == .notADatabase) && error.reason != .replicaDamaged
    }

    /// Checks the whole file, flushes it and gives it its name. The flush, the check of the pages and the check of the structure
    /// run at the same time.
    /// - Throws: ``DatabaseError/Reason/conversionFailed`` if a page or the structure is damaged, and any error of opening the
    ///   file. The next restore then begins from scratch.
    package func publish(key: DatabaseKey, replacing: Bool) async throws {
        let descriptor = pages?.descriptor ?? -1
        async let flushed = BlockingExecutor.run { AtomicFile.sync(descriptor) }
        do { try await Self.requireIntact(pagesPath, key) } catch {
            _ = try await flushed
            throw refused(error)
        }
        guard try await flushed else { throw AtomicFile.failure(.ioError, "the new file cannot be flushed to disk", pagesPath) }
        pages = nil
        try complete(replacing)
    }

    /// Checks, flushes and names the file on the calling thread alone.
    package func publish(key: DatabaseKey, replacing: Bool) throws {
        pages = nil
        do {
            try Self.requirePages(pagesPath, key)
            try Self.requireStructure(pagesPath, key)
        } catch { throw refused(error) }
        try complete(replacing)
    }

    private func refused(_ error: any Error) -> any Error {
        if let error = error as? DatabaseError, Self.isDamage(error) { discard() }
        return error
    }

    private static func requireIntact(_ path: String, _ key: DatabaseKey) async throws {
        async let pages: Void = BlockingExecutor.run { try requirePages(path, key) }
        async let structure: Void = BlockingExecutor.run { try requireStructure(path, key) }
        try await pages
        try await structure
    }

    private static func requirePages(_ path: String, _ key: DatabaseKey) throws {
        try require(path, key) { schema in try schema.pageProblems().problems }
    }

    /// Each page is authenticated by ``requirePages(_:_:)``, so only the schema, which is run, is authenticated here as well.
    private static func requireStructure(_ path: String, _ key: DatabaseKey) throws {
        try require(path, key) { schema in
            try schema.ignoreConstraints()
            try schema.connection.check(sqlcipherkit_skip_page_checks(schema.live(), schema.name))
            return try schema.structuralProblems(foreignKeys: false)
        }
    }

    private static func require(
        _ path: String, _ key: DatabaseKey, _ problems: (Schema) throws -> [Schema.IntegrityReport.Problem]
    ) throws {
        let db = try Connection(.file(path), key: key)
        defer { db.close() }
        try db.main.refuse(problems(db.main), "the restored database")
    }

    private func complete(_ replacing: Bool) throws {
        var log = stat()
        guard lstat(pagesPath + "-wal", &log) != 0 || log.st_size == 0, rename(pagesPath, file.temporaryPath) == 0 else {
            throw AtomicFile.failure(.ioError, "the new file could not be completed", pagesPath)
        }
        discard()
        try file.flush()
        // None of these files is left when the database has its name.
        AtomicFile.flushFolder(of: pagesPath)
        for suffix in ["-journal", "-wal", "-shm"] where suffix == "-shm" || DatabaseFile.isEmpty(file.path + suffix) {
            unlink(file.path + suffix)
        }
        try file.publish(replacing: replacing)
    }

    /// Deletes the record of the progress.
    private func discard() {
        unlink(pagesPath + "-state")
        hasRecord = false
        removePages()
    }
}
