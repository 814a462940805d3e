import Foundation
import SQLCipherKitCore

extension DatabaseConverter {
    /// Copies every row that can still be read from a damaged database into a new file.
    ///
    /// ```swift
    /// let report = try DatabaseConverter.salvage(fileAt: "notes.db", key: key, to: "rescued.db")
    /// for table in report.tables where !table.isComplete { print(table.name, table.lostPages) }
    /// ```
    /// Every readable page is read, even if no other page refers to it. So if an inner page of a table is lost, the rows below it
    /// are still found. Indexes are created again from the rows. The damaged indexes are used only to recover columns of lost rows.
    /// Everything else is kept, as with ``convert(fileAt:from:to:pageSize:configuration:progress:)``: row ids, views, triggers,
    /// virtual tables, `user_version`. A full-text index that has lost pages is rebuilt from its content, and an R-Tree from its
    /// intact nodes. A table or an index that needs a collation, a function or a module that the new file's connection lacks is
    /// copied as it is stored, if it has lost no page. Otherwise the report lists it as lost; such a table is then created without
    /// the part of its definition that needs the missing name. A row is lost if its own page or an overflow page of a large value
    /// is lost; its intact part, such as its first columns, is kept in a separate table. ``DatabaseConverter/SalvageReport`` names
    /// the tables that hold these rows, and rows whose table is unknown.
    ///
    /// If the first page is lost, its salt and the tables that it defines are taken from a recovery copy
    /// (``Schema/writeRecoveryCopy(toFileAt:)``). Without a recovery copy, the rows of these tables are in the table
    /// `lost_and_found`, and a database whose salt is lost cannot be read: neither a passphrase nor a raw key opens it. Without the
    /// first page, the key is verified by the authentication codes of the other pages, or by the recovery copy.
    ///
    /// The damaged file is never written to. It is first copied with its journal or write-ahead log, so the new file's folder needs
    /// room for two files. Close all connections to the damaged file.
    /// - Parameters:
    ///   - path: the damaged file.
    ///   - key: how it is encrypted.
    ///   - newPath: the file to create. It must not exist yet.
    ///   - newKey: how the new file is encrypted. Default: nil, for the encryption of the damaged file.
    ///   - recoveryCopy: the recovery copy. Default: nil, for the copy beside the damaged file (`path` with `-recovery` appended),
    ///     if the key opens such a copy.
    ///   - configuration: its ``DatabaseConfiguration/prepareDatabase`` runs on the connections to the new file, for a schema that
    ///     needs your own functions or collations. For an untrusted file, set ``DatabaseConfiguration/safeguards``, whose limits
    ///     apply: pages may share rows, so that a small file becomes a large file.
    ///   - progress: called repeatedly, and once with all work done before the file gets its name. If it throws, no new file is
    ///     created, and the call throws the same error.
    /// - Returns: a report of the copied and the lost rows and pages.
    /// - Throws: ``DatabaseError/Reason/wrongKeyOrNotADatabase``, ``DatabaseError/Reason/notEncrypted``,
    ///   ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/timeout``, ``DatabaseError/Reason/limitExceeded``, or an error
    ///   from SQLite. In each case no new file is created.
    @discardableResult
    public static func salvage(
        fileAt path: String, key: DatabaseKey, to newPath: String, newKey: DatabaseKey? = nil, recoveryCopy: String? = nil,
        configuration: DatabaseConfiguration = DatabaseConfiguration(), progress: DatabaseProgress.Handler? = nil
    ) throws -> SalvageReport {
        let path = try Paths.file(path, of: "the database"), newPath = try Paths.file(newPath, of: "the new file")
        let recoveryCopy = try recoveryCopy.map { try Paths.file($0, of: "the recovery copy") }
        for suffix in ["", "-journal", "-wal"] where DatabaseFile.exists(newPath + suffix) {
            throw DatabaseFile.cannotOpen(newPath, "there is a file \(newPath + suffix) already")
        }
        let file = try AtomicFile(for: newPath)
        return try salvage(fileAt: path, beside: path, key: key, to: file, newKey: newKey, recoveryCopy, configuration, progress) {
            try file.publish(replacing: false)
        }
    }

    /// - Parameters:
    ///   - database: the database's own path, where its key slots and a recovery copy are looked for.
    ///   - original: the file whose permissions and owner the new one gets.
    ///   - publish: gives the finished file its name.
    static func salvage(
        fileAt path: String, beside database: String, key: DatabaseKey, to file: AtomicFile, like original: stat? = nil,
        newKey: DatabaseKey?, _ recoveryCopy: String?, _ configuration: DatabaseConfiguration,
        _ progress: DatabaseProgress.Handler?, publish: () throws -> Void
    ) throws -> SalvageReport {
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        _ = try DatabaseFile.prepare(.file(path), reading)
        let resolved = try key.resolved(for: .file(database), reading).key
        let target = try newKey?.resolvedForNewFile() ?? resolved
        let relay = progress.map { ProgressRelay($0, on: nil) }
        let meter = WorkMeter(configuration.safeguards?.resourceLimits ?? .none)
        let report = try meter.run {
            let damaged = try DamagedFileCopy(of: path, at: AtomicFile.workingPath(for: file.path)) { try meter.use() }
            let recovery = try RecoveryCopy.find(recoveryCopy, for: database, key: resolved)
            var source = try PageReader(.file(damaged.path), key: resolved, access: .readWrite)
            if let recovery, try !source.hasFirstPage, try !source.hasAuthenticPage(resolved) {
                source.connection.close()
                try damaged.begin(with: resolved.isPlaintext ? recovery.header : recovery.salt)
                source = try PageReader(.file(damaged.path), key: resolved, access: .readWrite)
            }
            if let recovery, try !source.hasFirstPage { source.useLayout(of: recovery.header) }
            defer { source.connection.close() }
            return try Salvage(of: source, path: path, key: resolved, recovery, configuration, meter, relay)
                .run(to: file.temporaryPath, key: target)
        }
        try file.flush(like: original)
        if let relay, !relay.finish() { throw relay.error ?? CancellationError() }
        try publish()
        return report
    }
}

extension DatabaseConverter {
    /// The report of ``DatabaseConverter/salvage(fileAt:key:to:newKey:recoveryCopy:configuration:progress:)``: the rows that it has
    /// copied, and the rows that it could not copy.
    public struct SalvageReport: Hashable, Sendable {
        /// A table of the damaged database.
        public struct Table: Hashable, Sendable {
            /// The table's name.
            public let name: String
            /// The number of rows that were copied.
            public let rows: Int
            /// The table's damaged or missing pages to which other pages refer, counted from 1. The rows on them are lost; their
            /// number is unknown.
            public let lostPages: [Int]
            /// The number of rows that were found but could not be copied, because one of the row's overflow pages is lost or the
            /// row violates a constraint of the table.
            public let lostRows: Int
            /// The number of copied rows from pages to which no other page refers any more. If the database has no `auto_vacuum`,
            /// these rows were assigned to this table by their row ids, their order and the types of their values. A row that was
            /// deleted may be among them if pages of the list of free pages are lost as well.
            public let reattachedRows: Int
            /// The number of other rows of which only a part is left: the columns in an index, or the beginning of a row that lost
            /// an overflow page. They are in a table whose name is `lost_and_found_` followed by this table's name. A text or blob
            /// in it may be cut, and the columns that are lost are NULL. If the indexes have all columns, a row is copied like any
            /// other.
            public let partialRows: Int

            /// True if nothing in the table was lost.
            public var isComplete: Bool { lostPages.isEmpty && lostRows == 0 }
        }

        /// A table, index, view or trigger that the new database does not have, or a table that it has without a part of its
        /// definition: such a table is also in ``DatabaseConverter/SalvageReport/tables``.
        public struct LostObject: Hashable, Sendable {
            /// The object's name.
            public let name: String
            /// The reason: SQLite's error message for the object's CREATE statement, or the name of a lost table that the object
            /// needs.
            public let message: String
        }

        /// The tables with content, including the tables in which virtual tables keep their content.
        public let tables: [Table]
        /// The objects that are in the damaged database's schema but not, or only in part, in the new database.
        public let lostObjects: [LostObject]
        /// The lost pages of the schema itself. Unknown tables may be missing because of them.
        public let lostSchemaPages: [Int]
        /// All damaged or missing pages of the file, including pages of indexes and free pages.
        public let lostPages: [Int]
        /// The full-text tables with a damaged index that was rebuilt from their content, and the R-Trees with a lost part that
        /// were rebuilt from their other parts.
        public let rebuiltIndexes: [String]
        /// The number of rows on intact pages whose table is unknown, because its definition is lost or because several tables may
        /// have had them. They are in the table `lost_and_found`, with the columns of the table that SQLite's own `.recover` makes
        /// (<https://sqlite.org/recovery.html>). Rows of indexes and deleted rows may be among them.
        public let unassignedRows: Int
        /// The number of tables, indexes, views and triggers whose definition is from the recovery copy.
        public let recoveredObjects: Int

        /// True if the new database has all tables, with all their rows.
        public var isComplete: Bool {
            tables.allSatisfy(\.isComplete) && lostObjects.isEmpty && lostSchemaPages.isEmpty && unassignedRows == 0
        }
    }
}
