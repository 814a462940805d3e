import CSQLCipher
import SQLCipherKitCore
import SQLCipherKitSearch

extension Schema {
    /// Checks the authentication code of every page, the number of pages, the structure of the database, and the foreign keys.
    ///
    /// ```swift
    /// let report = try db.main.verify()
    /// for problem in report.problems { print(problem) }
    /// ```
    /// The whole file is read. With authenticated pages, every flipped bit is found, except in the bytes of a plaintext header and,
    /// with SHA-1, in the last 12 bytes of each page, which are unused: these are not authenticated. No check of a single file can
    /// detect that the file, or one of its pages, was replaced with an older version.
    ///
    /// For an encrypted database without page authentication, the lack of authentication is reported as a problem.
    ///
    /// If a table needs a function, a collation, a tokenizer or a module that the connection lacks, only its pages are checked, and
    /// the table is named in ``IntegrityReport/unchecked``. In a database that the connection cannot write, SQLite leaves out CHECK
    /// constraints: only a connection that can write finds the rows that violate them.
    ///
    /// If pages are damaged or missing, the structure is not checked, because that check would only report the content of those
    /// pages. A page that cannot be read is not considered damaged: it is read again, and if that fails too, the error is thrown.
    /// - Parameters:
    ///   - quick: whether to skip the comparison of indexes with their tables, as `PRAGMA quick_check` does. Default: false.
    ///   - limits: the time, memory and rows that the check may use. Default: nil, for the limits of the connection's
    ///     ``DatabaseConfiguration/safeguards``, if it has any.
    /// - Returns: the problems, with at most 1,000 problems of the structure.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy``, ``DatabaseError/Reason/timeout``,
    ///   ``DatabaseError/Reason/limitExceeded``, or another error that prevents the file from being read. A damaged database is not
    ///   an error here. See
    ///   <https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_integrity_check> and
    ///   <https://sqlite.org/pragma.html#pragma_integrity_check>.
    public func verify(quick: Bool = false, limits: ResourceLimits? = nil) throws -> IntegrityReport {
        try connection.limitedWork(to: limits ?? connection.configuration.safeguards?.resourceLimits) { () throws in
            let found = try verify(quick: quick, foreignKeys: true)
            guard !found.isAuthenticated, try cipher != nil else { return found }
            return IntegrityReport(
                problems: [.noAuthentication] + found.problems, unchecked: found.unchecked, pageCount: found.pageCount,
                isAuthenticated: false)
        }
    }

    func verify(quick: Bool = false, foreignKeys: Bool) throws -> IntegrityReport {
        let (problems, pageCount) = try pageProblems()
        var found = Structure(problems: problems)
        if problems.isEmpty { found = try structure(quick: quick, foreignKeys: foreignKeys) }
        return IntegrityReport(
            problems: found.problems, unchecked: found.unchecked, pageCount: pageCount,
            isAuthenticated: try cipher?.settings.usesHMAC ?? false)
    }

    /// The problems of the file, and the number of pages that it has.
    package func pageProblems() throws -> (problems: [IntegrityReport.Problem], pageCount: Int) {
        let handle = try live()
        let info = try cipher
        var problems: [IntegrityReport.Problem] = []
        if let info, try path != nil { problems = try damagedPages(info) }
        var declared: UInt32 = 0, present: UInt32 = 0
        let rc = sqlcipherkit_page_counts(handle, name, &declared, &present)
        if rc == SQLITE_OK {
            // A new file declares no pages, and neither may a file from an old SQLite.
            if declared > present { problems.append(.missingPages(declared: Int(declared), present: Int(present))) }
        } else if problems.isEmpty {
            problems.append(try damage(connection.failure(rc)))
        }
        return (problems, Int(present))
    }

    /// The pages that do not match their authentication code, and problems at the start and the end of the file.
    func damagedPages(_ info: CipherInfo) throws -> [IntegrityReport.Problem] {
        var problems: [IntegrityReport.Problem] = []
        let header = try DatabaseFile.header(live(), schema: name)
        if let header, header != (info.settings.plaintextHeaderSize > 0 ? DatabaseFile.plaintextHeader : info.salt) {
            problems.append(.damagedHeader)
        }
        guard info.settings.usesHMAC else { return problems }
        var damaged = try damagedPages(1...max(1, fileSize / info.settings.pageSize))
        // The check takes no lock: a page that was just being written is correct when it is read again.
        if !damaged.isEmpty { damaged = try damagedPages(damaged) }
        for page in damaged where try !isInLog(page) { problems.append(.damagedPage(page)) }
        let (pages, bytes) = try fileSize.quotientAndRemainder(dividingBy: info.settings.pageSize)
        if bytes != 0, try !isInLog(pages + 1) { problems.append(.incompletePage(pages + 1, bytes: bytes)) }
        return problems
    }

    /// Returns whether the write-ahead log has a newer version of a page. After a power failure in a checkpoint, the one in the
    /// file may be half written, and the next checkpoint writes it again. The structure is checked with the one in the log.
    private func isInLog(_ page: Int) throws -> Bool {
        guard let number = UInt32(exactly: page) else { return false }
        return sqlcipherkit_is_page_in_log(try live(), name, number) != 0
    }

    private func damagedPages(_ pages: some Sequence<Int>) throws -> [Int] {
        let handle = try live()
        var damaged: [Int] = []
        for page in pages {
            guard let number = UInt32(exactly: page) else { break }
            try connection.requireToGoOn()
            var rc = sqlcipherkit_check_page(handle, name, number)
            // A page that could not be read is read again before that is an error. It does not count as damaged.
            if rc != SQLITE_OK, rc != SQLITE_CORRUPT { rc = sqlcipherkit_check_page(handle, name, number) }
            switch rc {
            case SQLITE_OK: break
            case SQLITE_CORRUPT: damaged.append(page)
            // The file has become shorter, or never had a whole page.
            case ResultCode.ioErrorShortRead.rawValue: return damaged
            default: throw DatabaseError(rc: rc, database: nil, path: connection.location.path)
            }
        }
        return damaged
    }

    /// The size of the file in bytes, as the engine sees it.
    var fileSize: Int {
        get throws {
            var file: UnsafeMutablePointer<sqlite3_file>?
            try connection.check(sqlite3_file_control(try live(), name, SQLITE_FCNTL_FILE_POINTER, &file))
            var size: Int64 = 0
            guard let file, let read = file.pointee.pMethods?.pointee.xFileSize else { return 0 }
            try connection.check(read(file, &size))
            return Int(size)
        }
    }

    /// The problems of a structure, and the parts that could not be checked.
    fileprivate struct Structure {
        var problems: [IntegrityReport.Problem] = []
        var unchecked: [IntegrityReport.Unchecked] = []
    }

    /// The problems that SQLite's own check finds. That check also reports a page that could not be read as damage. If it finds
    /// problems, make sure that each page can be read, and then check again.
    /// - Parameters:
    ///   - quick: whether to skip the comparison of indexes with their tables.
    ///   - texts: whether to look at the texts of the schema.
    ///   - foreignKeys: whether to look for rows that refer to nothing.
    package func structuralProblems(
        quick: Bool = false, texts: Bool = true, foreignKeys: Bool
    ) throws -> [IntegrityReport.Problem] {
        try structure(quick: quick, texts: texts, foreignKeys: foreignKeys).problems
    }

    private func structure(quick: Bool = false, texts: Bool = true, foreignKeys: Bool) throws -> Structure {
        let found = try structureOnce(quick, texts, foreignKeys)
        let isDamaged = found.problems.contains { if case .structure = $0 { true } else { false } }
        guard isDamaged, try path != nil else { return found }
        _ = try damagedPages(1...max(1, fileSize / pageSize))
        return try structureOnce(quick, texts, foreignKeys)
    }

    private func structureOnce(_ quick: Bool, _ texts: Bool, _ foreignKeys: Bool) throws -> Structure {
        var found = Structure()
        do {
            do { found.problems += try integrityCheck(limit: 1000, quick: quick).map { .structure($0) } } catch let error
                as DatabaseError where isMissing(error)
            {
                for table in try entries(where: "type = 'table'").map(\.name) {
                    try found.check(self, table) { try integrityCheck(quick: quick, of: table).map { .structure($0) } }
                }
            }
            if !quick {
                for index in try fullTextIndexes() {
                    try found.check(self, index.name) {
                        try index.lacksKeys() ? [.structure("the full-text index \(index.name) lacks rows of its content")] : []
                    }
                }
            }
            let known = Set(found.unchecked.map { SQLName($0.name) })
            for (table, error) in try tablesOfMissingNames(isOrdered: false) where !known.contains(SQLName(table)) {
                found.unchecked.append(.init(name: table, reason: error.message))
            }
            if foreignKeys { try checkForeignKeys(&found) }
            if texts { found.problems += try textProblems() }
        } catch let error as DatabaseError {
            found.problems.append(try damage(error))
        }
        return found
    }

    /// Returns whether an error says that a table needs a function, a collation, a tokenizer or a module that the connection has
    /// not.
    fileprivate func isMissing(_ error: DatabaseError) -> Bool {
        error.code.primary == .error && (try? lacksPartOfVirtualTable) == false
    }

    /// If a foreign key cannot be checked at all, SQLite's check ends with an error: then each table is checked by itself.
    private func checkForeignKeys(_ found: inout Structure) throws {
        func violations(_ table: String? = nil) throws -> [IntegrityReport.Problem] {
            try foreignKeyViolations(in: table).map {
                .foreignKey(table: $0.table, rowID: $0.rowID, parent: $0.parent, index: $0.foreignKey)
            }
        }
        func isMismatch(_ error: DatabaseError) -> Bool {
            error.code == .error && error.message.hasPrefix("foreign key mismatch")
        }
        do {
            found.problems += try violations()
            return
        } catch let error as DatabaseError where isMismatch(error) || isMissing(error) {}
        // A virtual table has no page, and its module may be missing.
        let tables = SQL(raw: "SELECT name FROM \(quotedName).sqlite_schema WHERE type = 'table' AND rootpage > 0")
        for table in try connection.fetchAll(String.self, tables) {
            try found.check(self, table) {
                do { return try violations(table) } catch let error as DatabaseError where isMismatch(error) {
                    return [.structure(error.message)]
                }
            }
        }
    }

    /// Problems that the integrity check does not notice: schema entries with a text that contains more, or something else, than it
    /// should.
    private func textProblems() throws -> [IntegrityReport.Problem] {
        try entries().compactMap { entry in
            do { _ = try entry.text() } catch let error as DatabaseError { return .structure(error.message) }
            return nil
        }
    }

    /// Converts an error to a problem, if damage caused it.
    /// - Throws: the error, if it has another cause.
    private func damage(_ error: DatabaseError) throws -> IntegrityReport.Problem {
        switch error.code.primary {
        case .corrupt, .notADatabase: return .structure(error.message)
        case .error where try lacksPartOfVirtualTable: return .structure(error.message)
        default: throw error
        }
    }

    /// True if a virtual table has lost one of the tables that it consists of. The engine reports that only with the general result
    /// code, as for a function that is not registered, so the schema is checked.
    private var lacksPartOfVirtualTable: Bool {
        get throws {
            let entries = try entries(where: "type = 'table'"), names = entries.map(\.name).nameSet
            return entries.contains { entry in entry.parts.contains { !names.contains(SQLName($0)) } }
        }
    }
}

extension Schema.Structure {
    /// Adds the problems that `body` finds in a part of the schema, or that it cannot be checked.
    fileprivate mutating func check(
        _ schema: Schema, _ part: String, _ body: () throws -> [Schema.IntegrityReport.Problem]
    ) throws {
        do { problems += try body() } catch let error as DatabaseError where schema.isMissing(error) {
            if unchecked.last?.name.utf8.elementsEqual(part.utf8) != true {
                unchecked.append(.init(name: part, reason: error.message))
            }
        }
    }
}

extension Schema.IntegrityReport {
    /// A part of a database that could not be checked.
    public struct Unchecked: Hashable, Sendable {
        /// The table or full-text index.
        public let name: String
        /// SQLite's message, such as "no such collation sequence: unicase".
        public let reason: String
    }

    /// A problem with a database.
    ///
    /// New cases may be added in a minor version: switch over it with a `default`.
    public enum Problem: Hashable, Sendable {
        /// A page, counted from 1, with an authentication code that does not match its content: it was damaged, or written with
        /// another key.
        case damagedPage(Int)
        /// The database is encrypted, and its pages have no authentication codes, so changes to the file go unnoticed. The codes
        /// can be removed without the key: if the database once had codes, it was tampered with.
        case noAuthentication
        /// The salt at the start of the file, or SQLite's header text in a plaintext header, is not the salt or header that the
        /// connection was opened with: the key will not open the file again.
        case damagedHeader
        /// The header declares more pages than the file has.
        case missingPages(declared: Int, present: Int)
        /// The file does not end with a complete page: its last page, with this number, has only this many bytes.
        case incompletePage(Int, bytes: Int)
        /// A row of `PRAGMA integrity_check`: for example an index that lacks a row, pages used twice or never, or a value that
        /// violates a constraint. Also a foreign key that cannot be checked, because it refers to columns without a unique index
        /// (<https://sqlite.org/foreignkeys.html#fk_indexes>).
        case structure(String)
        /// A row of `table` that refers to a row of `parent` that does not exist. The row id is nil in a table WITHOUT ROWID; the
        /// index is the foreign key's number in `PRAGMA foreign_key_list`.
        case foreignKey(table: String, rowID: Int64?, parent: String, index: Int)
    }
}

extension Schema {
    /// The results of ``Schema/verify(quick:limits:)``.
    public struct IntegrityReport: Hashable, Sendable {
        /// All problems; empty for an intact database.
        public let problems: [IntegrityReport.Problem]
        /// Tables that could not be checked, because they or their indexes need a function, a collation, a tokenizer or a module
        /// that is not registered on this connection. Their pages and the other tables were checked; the list of free pages was
        /// not.
        public let unchecked: [IntegrityReport.Unchecked]
        /// The number of pages in the file.
        public let pageCount: Int
        /// True if each page has an authentication code. Otherwise, a changed page is only found if it breaks the structure.
        public let isAuthenticated: Bool

        /// True if no problem was found. Parts that could not be checked are not covered.
        public var isIntact: Bool { problems.isEmpty }
    }
}

/// Checks of a whole database on a connection that does nothing else.
extension Schema {
    /// Makes the connection accept rows that its tables would refuse, since `CHECK` and `NOT NULL` may have been added after they
    /// were written. Such a row is not damage, and a copy must include it. Only for a connection that copies or checks.
    package func ignoreConstraints() throws {
        try connection.execute("PRAGMA ignore_check_constraints = ON")
        // Make SQLite read the schema.
        _ = try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(quotedName).sqlite_schema"))
        try connection.check(sqlcipherkit_allow_nulls(live(), name))
    }

    /// Throws if the database is damaged, regardless of foreign keys: neither a row that refers to nothing nor a key that SQLite
    /// cannot check is damage. Only for the rewrite's own connections, since they ignore constraints from then on.
    /// - Throws: ``DatabaseError/Reason/conversionFailed`` if a page or the structure is damaged.
    func requireIntact(_ what: String) throws {
        try ignoreConstraints()
        try refuse(verify(foreignKeys: false).problems, what)
    }

    /// Throws if there is a problem.
    package func refuse(_ problems: [IntegrityReport.Problem], _ what: String) throws {
        guard let problem = problems.first else { return }
        throw DatabaseError(
            code: .corrupt, reason: .conversionFailed, message: "\(what) is damaged: \(problem)", path: connection.location.path)
    }
}
