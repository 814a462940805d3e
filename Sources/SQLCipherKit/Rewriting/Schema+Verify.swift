import CSQLCipher

extension Schema {
    /// Checks the database: every page's authentication code, that no page is missing, the structure, and the foreign keys.
    ///
    /// ```swift
    /// let report = try db.main.verify()
    /// for problem in report.problems { print(problem) }
    /// ```
    /// The whole file is read. With authenticated pages, every flipped bit in them is found; not authenticated are the bytes of
    /// a plaintext header, and with SHA-1 the last 12 bytes of each page, which nothing uses. What cannot be found by looking at
    /// one file is that it, or a page of it, was replaced by an older version of itself.
    ///
    /// When pages are damaged or missing, the structure is not checked: reading a damaged page would make the connection
    /// useless for what is still readable.
    /// - Parameter quick: whether to leave out the comparison of indexes with their tables, as `PRAGMA quick_check` does.
    ///   Default: no.
    /// - Returns: the problems, of which the structure's are cut off at 1,000.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy`` and what else keeps the file from being read;
    ///   a damaged database is no error here. See <https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_integrity_check> and
    ///   <https://sqlite.org/pragma.html#pragma_integrity_check>.
    public func verify(quick: Bool = false) throws(DatabaseError) -> IntegrityReport {
        let handle = try live()
        let info = try cipher
        var problems: [IntegrityProblem] = []
        if let info, try path != nil { problems = try damagedPages(info) }
        var declared: UInt32 = 0, present: UInt32 = 0
        let rc = sqlcipherkit_page_counts(handle, name, &declared, &present)
        if rc == SQLITE_OK {
            // A new file declares none, and one of an old SQLite may declare none either.
            if declared > present { problems.append(.missingPages(declared: Int(declared), present: Int(present))) }
        } else if problems.isEmpty {
            problems.append(try damage(connection.failure(rc)))
        }
        if problems.isEmpty { problems = try structuralProblems(quick: quick) }
        return IntegrityReport(
            problems: problems, pageCount: Int(present), isAuthenticated: info?.settings.usesHMAC ?? false)
    }

    private func damagedPages(_ info: CipherInfo) throws(DatabaseError) -> [IntegrityProblem] {
        var problems: [IntegrityProblem] = []
        let header = DatabaseFile.header(try live(), schema: name)
        if let header, header != (info.settings.plaintextHeaderSize > 0 ? DatabaseFile.plaintextHeader : info.salt) {
            problems.append(.damagedHeader)
        }
        guard info.settings.usesHMAC else { return problems }
        let sql = SQL(raw: "PRAGMA \(quotedName).cipher_integrity_check")
        var lines = try connection.fetchAll(String.self, sql)
        if lines.isEmpty { return problems }
        // The check takes no lock: a page that was being written is right when it is read again.
        let again = Set(try connection.fetchAll(String.self, sql))
        lines.removeAll { !again.contains($0) }
        let (pages, bytes) = try fileSize.quotientAndRemainder(dividingBy: info.settings.pageSize)
        return problems + lines.map { problem($0, incomplete: bytes == 0 ? nil : (pages + 1, bytes)) }
    }

    /// The problem in a row of `cipher_integrity_check`, which is a sentence. Only its numbers are read: the page's alone, the
    /// page's with its size and the right one, or the bytes of a read that failed with the page and its offset.
    private func problem(_ line: String, incomplete: (page: Int, bytes: Int)?) -> IntegrityProblem {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        if let incomplete, numbers.starts(with: [incomplete.page, incomplete.bytes]) {
            return .incompletePage(incomplete.page, bytes: incomplete.bytes)
        }
        switch numbers.count {
        case 1: return .damagedPage(numbers[0])
        case 3: return .damagedPage(numbers[1])
        default: return .structure(line)
        }
    }

    /// The size of the file in bytes, as the engine sees it.
    private var fileSize: Int {
        get throws(DatabaseError) {
            var file: UnsafeMutablePointer<sqlite3_file>?
            try connection.check(sqlite3_file_control(try live(), name, SQLITE_FCNTL_FILE_POINTER, &file))
            var size: Int64 = 0
            guard let file, let read = file.pointee.pMethods?.pointee.xFileSize else { return 0 }
            try connection.check(read(file, &size))
            return Int(size)
        }
    }

    private func structuralProblems(quick: Bool) throws(DatabaseError) -> [IntegrityProblem] {
        var problems: [IntegrityProblem] = []
        do throws(DatabaseError) {
            let check = quick ? "quick_check" : "integrity_check"
            let lines = try connection.fetchAll(String.self, SQL(raw: "PRAGMA \(quotedName).\(check)(1000)"))
            // An intact database gives this one row, by the pragma's specification.
            problems += lines.filter { $0 != "ok" }.map { .structure($0) }
            let rows: [(String, Int64?, String, Int)] = try connection.fetchAll(SQL(raw: "PRAGMA \(quotedName).foreign_key_check"))
            problems += rows.map { .foreignKey(table: $0.0, rowID: $0.1, parent: $0.2, index: $0.3) }
            problems += try textProblems()
        } catch {
            problems.append(try damage(error))
        }
        return problems
    }

    /// What the integrity check takes no notice of: a text that is more, or something else, than it claims to be.
    private func textProblems() throws(DatabaseError) -> [IntegrityProblem] {
        try entries().compactMap { entry in
            do throws(DatabaseError) { _ = try entry.text() } catch { return .structure(error.message) }
            return nil
        }
    }

    /// An error as a problem, if damage has caused it.
    /// - Throws: the error, if it has another cause.
    private func damage(_ error: DatabaseError) throws(DatabaseError) -> IntegrityProblem {
        switch error.code.primary {
        case .corrupt, .notADatabase: return .structure(error.message)
        case .error where try lacksTreeTable: return .structure(error.message)
        default: throw error
        }
    }

    /// Whether an R-Tree has lost one of the tables that it consists of (<https://sqlite.org/rtree.html>). The engine reports that
    /// with the general result code only, as it does a function that is not registered, so the schema is asked.
    private var lacksTreeTable: Bool {
        get throws(DatabaseError) {
            try connection.fetchOne(
                Bool.self,
                SQL(raw: """
                    SELECT EXISTS(
                        SELECT 1 FROM \(quotedName).sqlite_schema AS v
                        JOIN (SELECT '_node' AS part UNION ALL SELECT '_rowid' UNION ALL SELECT '_parent') AS p
                        WHERE v.type = 'table' AND v.rootpage = 0 AND v.sql LIKE '%using%rtree%'
                            AND NOT EXISTS(
                                SELECT 1 FROM \(quotedName).sqlite_schema AS t WHERE lower(t.name) = lower(v.name || p.part)))
                    """)) ?? false
        }
    }
}
