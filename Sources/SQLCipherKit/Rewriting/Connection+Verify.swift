import CSQLCipher

extension Connection {
    /// Checks a database: every page's authentication code, that no page is missing, the structure, and the foreign keys.
    ///
    /// ```swift
    /// let report = try db.verify()
    /// for problem in report.problems { print(problem) }
    /// ```
    /// The whole file is read. With authenticated pages, every flipped bit in them is found; not authenticated are the bytes of
    /// a plaintext header, and with SHA-1 the last 12 bytes of each page, which nothing uses. What cannot be found by looking at
    /// one file is that it, or a page of it, was replaced by an older version of itself.
    ///
    /// When pages are damaged or missing, the structure is not looked at: reading a damaged page would make the connection
    /// useless for what is still readable.
    /// - Parameters:
    ///   - schema: `main`, or what the database was attached as.
    ///   - quick: whether to leave out the comparison of indexes with their tables, as `PRAGMA quick_check` does. Default: no.
    /// - Returns: the problems, of which the structure's are cut off at 1,000.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/busy`` and what else keeps the file from being read;
    ///   a damaged database is no error here. See <https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_integrity_check> and
    ///   <https://sqlite.org/pragma.html#pragma_integrity_check>.
    public func verify(_ schema: String = "main", quick: Bool = false) throws(DatabaseError) -> IntegrityReport {
        let handle = try live()
        guard let database = try attachedDatabases().first(where: { $0.name.lowercased() == schema.lowercased() }) else {
            throw .noSchema(schema)
        }
        let info = try cipherInfo(of: schema)
        var problems = database.path == nil ? [] : try damagedPages(schema, info)
        var declared: UInt32 = 0, present: UInt32 = 0
        let rc = sqlcipherkit_page_counts(handle, schema, &declared, &present)
        if rc == SQLITE_OK {
            // A new file declares none, and one of an old SQLite may declare none either.
            if declared > present { problems.append(.missingPages(declared: Int(declared), present: Int(present))) }
        } else if problems.isEmpty {
            try note(failure(rc), in: &problems)
        }
        if problems.isEmpty { try checkStructure(schema, quick: quick, &problems) }
        return IntegrityReport(
            problems: problems, pageCount: Int(present), isAuthenticated: info?.settings.usesHMAC ?? false)
    }

    private func damagedPages(_ schema: String, _ info: CipherInfo?) throws(DatabaseError) -> [IntegrityProblem] {
        guard let info else { return [] }
        var problems: [IntegrityProblem] = []
        let header = DatabaseFile.header(try live(), schema: schema)
        if let header, header != (info.settings.plaintextHeaderSize > 0 ? DatabaseFile.plaintextHeader : info.salt) {
            problems.append(.damagedHeader)
        }
        guard info.settings.usesHMAC else { return problems }
        let sql = SQL(raw: "PRAGMA \(schema.quotedSQLIdentifier).cipher_integrity_check")
        var lines = try fetchAll(String.self, sql)
        if !lines.isEmpty {
            // The check takes no lock: a page that was being written was right a moment later.
            let again = Set(try fetchAll(String.self, sql))
            lines.removeAll { !again.contains($0) }
        }
        return problems + lines.map(problem)
    }

    /// A line of the engine's page check, which comes as English text only.
    private func problem(_ line: String) -> IntegrityProblem {
        let words = line.split(separator: " ")
        func number(after word: Substring) -> Int? {
            guard let index = words.firstIndex(of: word), index + 1 < words.count else { return nil }
            return Int(words[index + 1])
        }
        guard let page = number(after: "page") else { return .structure(line) }
        if let bytes = number(after: "of"), line.contains("invalid size") { return .incompletePage(page, bytes: bytes) }
        return .damagedPage(page)
    }

    private func checkStructure(_ schema: String, quick: Bool, _ problems: inout [IntegrityProblem]) throws(DatabaseError) {
        let name = schema.quotedSQLIdentifier
        do throws(DatabaseError) {
            let lines = try fetchAll(String.self, SQL(raw: "PRAGMA \(name).\(quick ? "quick_check" : "integrity_check")(1000)"))
            problems += lines.filter { $0 != "ok" }.map { .structure($0) }
            let rows: [(String, Int64?, String, Int)] = try fetchAll(SQL(raw: "PRAGMA \(name).foreign_key_check"))
            problems += rows.map { .foreignKey(table: $0.0, rowID: $0.1, parent: $0.2, index: $0.3) }
        } catch {
            try note(error, in: &problems)
        }
    }

    /// Takes an error that comes of damage for a problem, and throws any other.
    private func note(_ error: DatabaseError, in problems: inout [IntegrityProblem]) throws(DatabaseError) {
        guard [.corrupt, .notADatabase].contains(error.code.primary) || error.message.contains("no such table") else { throw error }
        problems.append(.structure(error.message))
    }
}
