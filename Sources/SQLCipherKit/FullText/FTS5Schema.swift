/// What the schema tells about a full-text table that is there, whoever made it.
struct FTS5Schema {
    let name: String
    let schema: String
    let columns: [String]
    /// The options as they were written, by name in lower case.
    let options: [String: String]
    /// The table that records are in, with the expression for its row id (`t.` before its columns) and what has to be joined;
    /// nil if the text is in the full-text table itself or nowhere.
    let content: (table: String, rowID: String, join: String)?

    var qualifiedName: String { "\(schema.quotedSQLIdentifier).\(name.quotedSQLIdentifier)" }
    /// The hidden column that stands for the table in MATCH and in FTS5's functions.
    var handle: String { "f.\(name.quotedSQLIdentifier)" }

    /// The position of a column in FTS5's count.
    func index(of column: String) throws(DatabaseError) -> Int {
        guard let index = columns.firstIndex(where: { $0.lowercased() == column.lowercased() }) else {
            throw DatabaseError(
                code: .error, reason: .noSuchColumn, message: "the full-text table \(name) has no column \(column)")
        }
        return index
    }
}

extension Connection {
    /// The names of a full-text table's columns.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is no such table.
    func fullTextColumns(_ table: String, schema: String) throws(DatabaseError) -> [String] {
        // Hidden are the column named as the table, and `rank`.
        let columns = try fetchAll(String.self, "SELECT name FROM pragma_table_xinfo(\(table), \(schema)) WHERE hidden = 0 ORDER BY cid")
        guard !columns.isEmpty else { throw .invalidArgument("there is no full-text table \(schema).\(table)") }
        return columns
    }

    /// Reads a full-text table's options and where its content is.
    func fullTextSchema(_ table: String, schema: String) throws(DatabaseError) -> FTS5Schema {
        let sql = try fetchOne(
            String.self,
            """
            SELECT sql FROM \(identifier: schema).sqlite_schema
            WHERE type = 'table' AND name = \(table) COLLATE NOCASE AND sql LIKE 'CREATE VIRTUAL TABLE%'
            """)
        guard let sql else { throw .invalidArgument("there is no full-text table \(schema).\(table)") }
        var options = FTS5Schema.options(in: sql)
        var content: (table: String, rowID: String, join: String)?
        // The trigger follows the content table when that is renamed.
        let synchronized = try fetchOne(
            String.self,
            """
            SELECT tbl_name FROM \(identifier: schema).sqlite_schema
            WHERE type = 'trigger' AND name = \(table + "_after_insert") COLLATE NOCASE
            """)
        if let synchronized {
            let source = try contentTable(synchronized, schema: schema)
            switch source.rowID {
            case .integer(let column): content = (synchronized, "t.\(column.quotedSQLIdentifier)", "")
            case .mapped(let key):
                let keys = "\(schema.quotedSQLIdentifier).\((table + ContentSync.Suffix.keys).quotedSQLIdentifier)"
                // Under names of their own, so that a filter's columns are those of the content table.
                let names = key.enumerated().map { "\($1.column.quotedSQLIdentifier) AS \"sqlcipherkit_key\($0)\"" }.joined(separator: ", ")
                let match = key.enumerated().map { "k.\"sqlcipherkit_key\($0)\" = t.\($1.column.quotedSQLIdentifier)" }
                let join = " JOIN (SELECT \"sqlcipherkit_id\", \(names) FROM \(keys)) AS k ON \(match.joined(separator: " AND "))"
                content = (synchronized, "k.\"sqlcipherkit_id\"", join)
            }
        } else if let table = options["content"], !table.isEmpty {
            content = (table, "t.\((options["content_rowid"] ?? "rowid").quotedSQLIdentifier)", "")
        }
        if options["detail"] == nil { options["detail"] = "full" }
        return FTS5Schema(
            name: table, schema: schema, columns: try fullTextColumns(table, schema: schema), options: options, content: content)
    }
}

extension FTS5Schema {
    /// The `name = value` arguments of a CREATE VIRTUAL TABLE statement.
    static func options(in sql: String) -> [String: String] {
        guard let opening = sql.firstIndex(of: "("), let closing = sql.lastIndex(of: ")"), opening < closing else { return [:] }
        var arguments: [String] = [""]
        var quote: Character?
        for character in sql[sql.index(after: opening)..<closing] {
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "'" || character == "\"" || character == "`" {
                quote = character
            } else if character == "[" {
                quote = "]"
            } else if character == "," {
                arguments.append("")
                continue
            }
            arguments[arguments.count - 1].append(character)
        }
        var options: [String: String] = [:]
        for argument in arguments {
            // A column's name may hold a `=`, but in quotes.
            guard let equals = argument.firstIndex(of: "="), !argument[..<equals].contains(where: { "'\"`[".contains($0) }) else {
                continue
            }
            let name = argument[..<equals].filter { !$0.isWhitespace }.lowercased()
            options[name] = unquoted(argument[argument.index(after: equals)...])
        }
        return options
    }

    /// The words of a `tokenize` option, quoted or bare.
    static func words(_ option: String) -> [String] {
        var words: [String] = []
        var word = ""
        var quote: Character?
        var isOpen = false
        for character in option {
            if let open = quote {
                word.append(character)
                if character == open { quote = nil }
            } else if character.isWhitespace {
                if isOpen { words.append(word) }
                word = ""
                isOpen = false
            } else {
                if character == "'" || character == "\"" { quote = character }
                word.append(character)
                isOpen = true
            }
        }
        if isOpen { words.append(word) }
        return words.map { unquoted($0[...]) }
    }

    private static func unquoted(_ value: Substring) -> String {
        var value = value
        while value.first?.isWhitespace == true { value.removeFirst() }
        while value.last?.isWhitespace == true { value.removeLast() }
        guard let quote = value.first, "'\"`[".contains(quote), value.count >= 2 else { return String(value) }
        let closing: Character = quote == "[" ? "]" : quote
        let inner = String(value.dropFirst().dropLast())
        return inner.replacing("\(closing)\(closing)", with: String(closing))
    }
}
