import Foundation
import SQLCipherKitCore

extension DatabaseConverter {
    /// Opens a database; if it is damaged, salvages it first and says what was lost.
    ///
    /// ```swift
    /// let (db, report) = try DatabaseConverter.openSalvaging(fileAt: "notes.db", key: key)
    /// if let report, !report.isComplete { warnUser(about: report) }
    /// ```
    /// A file that opens, and whose pages all match their authentication codes, is left alone, and the report is nil. Otherwise
    /// the file and its log are copied to `path` with `-damaged` appended, or with a number if that exists, and what
    /// ``salvage(fileAt:key:to:newKey:recoveryCopy:configuration:progress:)`` saves takes its place under the same key. Remove the
    /// damaged copy when you do not need it. Close all other connections to the file, in all processes.
    ///
    /// The new file has the permissions and, for root, the owner of the damaged one. If the process ends meanwhile, the path has
    /// the damaged file or the new one, and the next call goes on with the damaged copy, which has the log in either case.
    /// - Parameters:
    ///   - path: the database, which must exist.
    ///   - key: how it is encrypted. The new file has the same key.
    ///   - configuration: how the connection is opened.
    ///   - progress: as for `salvage`; it is not called if nothing is damaged.
    /// - Returns: the connection, and what was saved and lost; nil if nothing was damaged.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if no page matches the key, ``DatabaseError/Reason/cannotOpen``,
    ///   or an error from SQLite. The file is then unchanged.
    public static func openSalvaging(
        fileAt path: String, key: Encryption, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: RewriteProgressHandler? = nil
    ) throws -> (connection: Connection, report: SalvageReport?) {
        guard DatabaseFile.exists(path) else { throw DatabaseFile.cannotOpen(path, "there is no such file") }
        // A symbolic link goes on to lead to the database.
        let path = configuration.followsSymbolicLinks ? URL(fileURLWithPath: path).resolvingSymlinksInPath().path : path
        do {
            let connection = try Connection(.file(path), key: key, configuration: configuration)
            let info = try connection.main.cipher
            if try info.map({ try connection.main.damagedPages($0).isEmpty }) ?? connection.main.verify(quick: true).isIntact {
                return (connection, nil)
            }
            connection.close()
        } catch let error as DatabaseError
            where [.corrupt, .notADatabase].contains(error.code.primary) || error.reason == .wrongKeyOrNotADatabase {}
        var original = stat()
        guard stat(path, &original) == 0 else { throw AtomicFile.failure(.cannotOpen, "the file cannot be read", path) }
        let (damaged, isNew) = try keep(path)
        let report: SalvageReport
        do {
            report = try salvage(
                fileAt: damaged, beside: path, key: key, to: path, like: original, newKey: nil, nil, configuration, progress
            ) { file in
                // What the damaged file's log held is in the new file, and in the copy.
                for suffix in logs { unlink(path + suffix) }
                unlink(path + "-shm")
                AtomicFile.flushFolder(of: path)
                do { try file.publish(replacing: true) } catch {
                    for suffix in logs where DatabaseFile.exists(damaged + suffix) { try copy(damaged + suffix, path + suffix) }
                    throw error
                }
            }
        } catch {
            if isNew { for suffix in logs + [""] { try? FileManager.default.removeItem(atPath: damaged + suffix) } }
            throw error
        }
        return (try Connection(.file(path), key: key, configuration: configuration), report)
    }

    private static let logs = ["-wal", "-journal"]

    /// Copies a damaged file with its log, or finds the copy that an interrupted call has made: by now it may have the only log.
    private static func keep(_ path: String) throws -> (damaged: String, isNew: Bool) {
        var damaged = path + "-damaged", number = 1
        while DatabaseFile.exists(damaged) {
            let isSame = (logs + [""]).allSatisfy { suffix in
                !DatabaseFile.exists(path + suffix)
                    || FileManager.default.contentsEqual(atPath: path + suffix, andPath: damaged + suffix)
            }
            if isSame { return (damaged, false) }
            number += 1
            damaged = path + "-damaged-\(number)"
        }
        // Without the file itself, which comes last, the rest is no copy.
        for suffix in logs + [""] {
            unlink(damaged + suffix)
            if DatabaseFile.exists(path + suffix) { try copy(path + suffix, damaged + suffix) }
        }
        AtomicFile.flushFolder(of: path)
        return (damaged, true)
    }

    /// Copies a file in one step, with its permissions and, for root, its owner.
    private static func copy(_ path: String, _ target: String) throws {
        let unfinished = target + "-copy"
        unlink(unfinished)
        defer { unlink(unfinished) }
        try FileManager.default.copyItem(atPath: path, toPath: unfinished)
        var info = stat()
        let file = SystemFile.open(unfinished, O_RDWR)
        defer { if file >= 0 { close(file) } }
        guard file >= 0, stat(path, &info) == 0 else {
            throw AtomicFile.failure(.ioError, "the damaged file cannot be copied", path)
        }
        if geteuid() == 0 { _ = fchown(file, info.st_uid, info.st_gid) }
        guard fchmod(file, info.st_mode & 0o7777) == 0, AtomicFile.sync(file), rename(unfinished, target) == 0 else {
            throw AtomicFile.failure(.ioError, "the damaged file cannot be copied", path)
        }
    }
}
