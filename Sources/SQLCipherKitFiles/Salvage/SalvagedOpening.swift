import Foundation
import SQLCipherKitCore

extension DatabaseConverter {
    /// Opens a database; if it is damaged, salvages it first and reports the loss.
    ///
    /// ```swift
    /// let (db, report) = try DatabaseConverter.openOrSalvage(fileAt: "notes.db", key: key)
    /// if let report, !report.isComplete { warnUser(about: report) }
    /// ```
    /// If the file opens and all its pages match their authentication codes, the file stays unchanged, and the report is nil.
    /// Otherwise the file and its log are copied to `path` with `-damaged` appended (and a number, if that file exists). The file
    /// that ``salvage(fileAt:key:to:newKey:recoveryCopy:configuration:progress:)`` creates then replaces the damaged file, with the
    /// same key. The disk needs room for three such files until you remove the damaged copy. Close all other connections to the
    /// file, in all processes.
    ///
    /// The new file and the copy have the permissions and, as far as the system allows, the owner and the group of the damaged
    /// file. If the process ends during the call, the path has the damaged file or the new file. The next call continues with the
    /// damaged copy, which has the log in either case.
    /// - Parameters:
    ///   - path: the database, which must exist.
    ///   - key: how it is encrypted. The new file has the same key.
    ///   - configuration: how the connection is opened.
    ///   - progress: as for `salvage`; it is not called if nothing is damaged.
    /// - Returns: the connection, and a report of the saved and the lost rows. The report is nil if nothing was damaged.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase`` if no page matches the key, ``DatabaseError/Reason/cannotOpen``,
    ///   or an error from SQLite. The file is then unchanged.
    public static func openOrSalvage(
        fileAt path: String, key: DatabaseKey, configuration: DatabaseConfiguration = DatabaseConfiguration(),
        progress: DatabaseProgress.Handler? = nil
    ) throws -> (connection: Connection, report: SalvageReport?) {
        let given = try Paths.file(path, of: "the database")
        guard DatabaseFile.exists(given) else { throw DatabaseFile.cannotOpen(given, "there is no such file") }
        // A symbolic link goes on to lead to the database.
        let path = configuration.followsSymbolicLinks ? DatabaseFile.realPath(given) : given
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
        let file = try AtomicFile(for: path), logs = DamagedFileCopy.logs
        let (damaged, isNew) = try keep(path, WorkMeter(configuration.safeguards?.resourceLimits ?? .none))
        let report: SalvageReport
        do {
            report = try salvage(
                fileAt: damaged, beside: path, key: key, to: file, like: original, newKey: nil, nil, configuration, progress
            ) {
                // The content of the damaged file's log is in the new file, and in the copy.
                for suffix in logs { unlink(path + suffix) }
                unlink(path + "-shm")
                AtomicFile.flushFolder(of: path)
                do { try file.publish(replacing: true) } catch {
                    // A copy without its log is not taken for one.
                    for suffix in logs { rename(damaged + suffix, path + suffix) }
                    throw error
                }
            }
        } catch {
            if isNew { DatabaseFile.remove(damaged) }
            throw error
        }
        return (try Connection(.file(path), key: key, configuration: configuration), report)
    }

    /// Copies a damaged file with its log, or finds the copy that an interrupted call has made: by now it may have the only log.
    private static func keep(_ path: String, _ meter: WorkMeter) throws -> (damaged: String, isNew: Bool) {
        var damaged = path + "-damaged", number = 1
        while DatabaseFile.exists(damaged) {
            if try DamagedFileCopy.isKept(damaged, of: path) { return (damaged, false) }
            number += 1
            damaged = path + "-damaged-\(number)"
        }
        try DamagedFileCopy(of: path, at: AtomicFile.workingPath(for: path)) { try meter.use() }.keep(as: damaged)
        return (damaged, true)
    }
}
