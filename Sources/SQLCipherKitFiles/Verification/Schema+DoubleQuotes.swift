import SQLCipherKitCore

extension Schema {
    /// Compiles views, and statements that fire triggers, without running them, and creates tables and indexes in memory. SQLite
    /// itself only parses their text when they are used, so that problems in a new file would only be found then.
    /// - Throws: ``DatabaseError/Reason/malformedSchema`` if one uses text in double quotes as a string and the connection does not
    ///   allow that.
    func requireNoDoubleQuotedStrings() throws {
        if connection.configuration.allowsDoubleQuotedStrings { return }
        let all = try entries()
        let quoting = all.filter { $0.sql?.utf8.contains(UInt8(ascii: "\"")) == true && !($0.type == "table" && $0.isVirtual) }
        if quoting.isEmpty { return }
        for entry in quoting where ["view", "trigger"].contains(entry.type) {
            let uses = entry.type == "view" ? ["SELECT * FROM \(qualified(entry.name))"] : try changes(of: entry.table)
            for sql in uses { try entry.check { () throws in _ = try connection.prepareKept(sql) } }
        }
        let tables = quoting.filter { ["table", "index"].contains($0.type) }.map(\.table).nameSet
        let memory = try Connection(.memory, configuration: .forCopy(of: connection))
        defer { memory.close() }
        for type in ["table", "index"] {
            for entry in all where entry.type == type && !entry.isVirtual && entry.sql != nil {
                guard tables.contains(SQLName(entry.table)) else { continue }
                try entry.check { () throws in try memory.execute(entry.statement().sql(in: memory.main)) }
            }
        }
    }

    /// Statements that fire each kind of trigger of a table or view.
    private func changes(of table: String) throws -> [String] {
        let columns = try storedColumns(of: table).map(\.quotedSQLIdentifier)
        guard let first = columns.first else { return [] }
        let table = qualified(table)
        return [
            "INSERT INTO \(table)(\(first)) VALUES (NULL)", "DELETE FROM \(table)",
            "UPDATE \(table) SET \(columns.map { "\($0) = \($0)" }.joined(separator: ", "))",
        ]
    }
}

extension SchemaEntry {
    fileprivate func check(_ body: () throws -> Void) throws {
        do { try body() } catch {
            let message = DatabaseError(wrapping: error).message
            // Any other problem existed before.
            guard message.contains(DatabaseError.doubleQuotes) else { return }
            throw refusal(
                "it takes text in double quotes for a string, which DatabaseConfiguration.allowsDoubleQuotedStrings allows, "
                    + "here and wherever the database is opened: \(message)")
        }
    }
}
