import CSQLCipher
import Foundation
import SQLCipherKitCore

/// The content of a database's first page and its schema, kept in a file beside it. The copy is a small database with the same
/// encryption.
struct RecoveryCopy {
    static let suffix = "-recovery"

    /// The first 16 bytes of the file: the salt, without which no key opens it.
    let salt: [UInt8]
    /// The first 100 bytes of the database.
    let header: [UInt8]
    let objects: [Salvage.Object]

    /// Reads a recovery copy, which also shows that the key is right.
    init(atPath path: String, key: DatabaseKey) throws {
        var reading = DatabaseConfiguration.untrusted
        reading.access = .readOnly
        let file = try Connection(.file(path), key: key, configuration: reading)
        defer { file.close() }
        let isOne = try file.main.has("first_page") && file.main.has("object")
        let first: (Data, Data)? = isOne ? try file.fetchOne("SELECT salt, header FROM first_page") : nil
        guard let (salt, header) = first, salt.count == 16, header.count == 100 else {
            throw DatabaseFile.cannotOpen(path, "it is not a recovery copy")
        }
        (self.salt, self.header) = (Array(salt), Array(header))
        let rows: [(String, String, String, Int, String?)] = try file.fetchAll(
            "SELECT type, name, tbl_name, rootpage, sql FROM object ORDER BY number")
        objects = rows.map { type, name, table, root, sql in
            Salvage.Object(entry: SchemaEntry(type: type, name: name, table: table, isVirtual: root == 0, sql: sql), root: root)
        }
    }

    /// The recovery copy to use for a damaged file: the given one, or the one beside the file, if there is one that the key opens.
    static func find(_ path: String?, for database: String, key: DatabaseKey) throws -> RecoveryCopy? {
        if let path { return try RecoveryCopy(atPath: path, key: key) }
        return try? RecoveryCopy(atPath: database + suffix, key: key)
    }
}

extension Schema {
    /// Writes the content of the first page and the schema to a file of some kilobytes, so that losing the first page loses no
    /// table.
    ///
    /// ```swift
    /// try db.main.writeRecoveryCopy()
    /// ```
    /// The file has the salt, the header and the definitions of all tables with the places where they begin. It is encrypted like
    /// the database, and contains no rows.
    /// ``DatabaseConverter/salvage(fileAt:key:to:newKey:recoveryCopy:configuration:progress:)`` uses it if the first page of the
    /// database is lost. Write it again after each change of the schema or the key, and after ``vacuum()``,
    /// ``eraseDeletedContent(progress:)`` and other rewrites of the file. ``Schema/BackupOptions/writesRecoveryCopy`` writes a
    /// recovery copy with each backup, and ``SharedSchema/keepRecoveryCopy(toFileAt:)`` after each change of the schema.
    ///
    /// An existing recovery copy is replaced when the new copy is complete. The new copy has the permissions and, as far as the
    /// system allows, the owner and the group of the database.
    /// - Parameter path: the file to write. Default: nil, the database's own path with `-recovery` appended.
    /// - Throws: ``DatabaseError/Reason/misuse`` for a database without a file; ``DatabaseError/Reason/cannotOpen`` if there is a
    ///   file at the path that is not a recovery copy of this key; or an error from SQLite. An existing file is then unchanged.
    public func writeRecoveryCopy(toFileAt path: String? = nil) throws {
        guard let own = try self.path else {
            throw DatabaseError.misuse("the database \(name) has no file, and so no recovery copy")
        }
        let path = try path.map { try Paths.file($0, of: "the recovery copy") } ?? own + RecoveryCopy.suffix
        let key = try encryptionOrPlaintext
        if DatabaseFile.exists(path) { _ = try RecoveryCopy(atPath: path, key: key) }
        var original = stat()
        let isKnown = stat(own, &original) == 0
        try connection.usingExclusively {
            let file = try AtomicFile(for: path)
            do {
                let copy = try Connection(.file(file.temporaryPath), key: key, configuration: .forCopy(of: connection))
                defer { copy.close() }
                try copy.disableJournal()
                try connection.savepoint { _ in try write(to: copy) }
            }
            // It tells where the tables begin.
            if !connection.isInTransaction { try makeDurable() }
            try file.flush(like: isKnown ? original : nil)
            try file.publish(replacing: true)
        }
    }

    private func write(to copy: Connection) throws {
        var salt = [UInt8](repeating: 0, count: 16)
        let objects: [(String, String, String, Int, String?)] = try connection.fetchAll(
            SQL(raw: "SELECT type, name, tbl_name, rootpage, sql FROM \(quotedName).sqlite_schema ORDER BY rowid"))
        try connection.check(sqlcipherkit_read_file(live(), name, &salt, 16, 0))
        guard let first = try PageReader(self).page(1) else {
            throw DatabaseError(code: .corrupt, message: "the first page is damaged", path: try path)
        }
        try copy.execute(SQLScript("""
            CREATE TABLE first_page(salt BLOB, header BLOB);
            CREATE TABLE object(number INTEGER PRIMARY KEY, type TEXT, name TEXT, tbl_name TEXT, rootpage INTEGER, sql TEXT);
            """))
        try copy.execute("INSERT INTO first_page VALUES (\(Data(salt)), \(Data(first.prefix(100))))")
        let insert = try copy.prepare("INSERT INTO object(type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)")
        for (type, name, table, root, sql) in objects { try insert.execute(binding: type, name, table, root, sql) }
    }
}
