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
    /// If the process ends meanwhile, the path has the damaged file or the new one; the damaged copy has the log in either case.
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
        do {
            let connection = try Connection(.file(path), key: key, configuration: configuration)
            let info = try connection.main.cipher
            if try info.map({ try connection.main.damagedPages($0).isEmpty }) ?? connection.main.verify(quick: true).isIntact {
                return (connection, nil)
            }
            connection.close()
        } catch let error as DatabaseError
            where [.corrupt, .notADatabase].contains(error.code.primary) || error.reason == .wrongKeyOrNotADatabase {}
        var damaged = path + "-damaged", number = 1
        while ["", "-wal", "-journal"].contains(where: { DatabaseFile.exists(damaged + $0) }) {
            number += 1
            damaged = path + "-damaged-\(number)"
        }
        let report: SalvageReport
        do {
            for suffix in ["", "-wal", "-journal"] where DatabaseFile.exists(path + suffix) {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: damaged + suffix)
            }
            report = try salvage(
                fileAt: damaged, beside: path, key: key, to: URL(fileURLWithPath: path).path, newKey: nil, nil, configuration,
                progress
            ) { file in
                // What the damaged file's log held is in the new file, and in the copy.
                for suffix in ["-journal", "-wal", "-shm"] { unlink(path + suffix) }
                AtomicFile.flushFolder(of: path)
                try file.publish(replacing: true)
            }
        } catch {
            for suffix in ["", "-wal", "-journal"] { try? FileManager.default.removeItem(atPath: damaged + suffix) }
            throw error
        }
        return (try Connection(.file(path), key: key, configuration: configuration), report)
    }
}
