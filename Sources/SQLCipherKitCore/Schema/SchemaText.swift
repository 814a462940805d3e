/// The SQL text of a schema object, verified to be a single CREATE statement of the kind and name that its row claims.
///
/// An untrusted file may contain anything here, such as `CREATE TABLE a(b); PRAGMA …`, and SQLite itself only reads the first
/// statement. The text is verified with the tokens of the engine's own parser: the first words, the name, then only permitted
/// content up to the end, without a semicolon that could end the statement earlier.
package struct SchemaText {
    enum Kind: String {
        case table = "TABLE"
        case virtualTable = "VIRTUAL TABLE"
        case index = "INDEX"
        case trigger = "TRIGGER"
        case view = "VIEW"

        /// Nil if the row's kind is unknown to SQLite.
        init?(_ entry: SchemaEntry) {
            switch entry.type {
            case "table": self = entry.isVirtual ? .virtualTable : .table
            case "index": self = .index
            case "trigger": self = .trigger
            case "view": self = .view
            default: return nil
            }
        }
    }

    /// The unchanged text.
    package let sql: String
    let kind: Kind
    /// The module of a virtual table.
    package var module: SQLName?
    /// True if the text may end in a comment, which would swallow text appended to it.
    private(set) var endsInComment = false

    var isUnique = false
    private var nameRange = 0..<0
    package let entry: SchemaEntry
    var tokens: SQLTokens

    /// - Throws: ``DatabaseError/Reason/malformedSchema`` with a message that explains the problem.
    init(_ sql: String, _ kind: Kind, _ entry: SchemaEntry) throws {
        self.sql = sql
        self.kind = kind
        self.entry = entry
        tokens = SQLTokens(sql)
        if sql.utf8.contains(0) { throw entry.refusal("it has a NUL character") }
        guard !entry.name.hasNamePrefix("sqlite_") || Self.ownTables.contains(SQLName(entry.name)) else {
            throw entry.refusal("its name is one of SQLite's own")
        }
        try readKeywords()
        let name = next()
        guard let name, tokens.name(name).isSameName(as: entry.name) else {
            throw entry.refusal("it creates an object of another name")
        }
        nameRange = name.range
        switch kind {
        case .table: try readTable()
        case .virtualTable: try readVirtualTable()
        case .index: try readIndex()
        case .trigger: try readTrigger()
        case .view: try readView()
        }
        endsInComment = sql.utf8.dropFirst(tokens.end).contains { !Self.blanks.contains($0) }
    }

    /// The statement for a script, where a semicolon follows it.
    package var forScript: String { endsInComment ? sql + "\n" : sql }

    /// The statement that creates the object in another database.
    package func sql(in target: Schema) -> SQL {
        let rest = String(decoding: sql.utf8.dropFirst(nameRange.upperBound), as: UTF8.self)
        return SQL(raw: "\(keywords) \(target.qualified(entry.name))\(rest)")
    }

    /// The statement that creates the object again with the same text, including the quotes around its name.
    package func sqlAsWritten(in target: Schema) -> SQL {
        let rest = String(decoding: sql.utf8.dropFirst(nameRange.lowerBound), as: UTF8.self)
        return SQL(raw: "\(keywords) \(target.quotedName).\(rest)")
    }

    private var keywords: String { "CREATE \(isUnique ? "UNIQUE " : "")\(kind.rawValue)" }

    private static let ownTables: Set<SQLName> = ["sqlite_sequence", "sqlite_stat1", "sqlite_stat2", "sqlite_stat3", "sqlite_stat4"]
    private static let blanks: Set<UInt8> = Set(" \t\n\r\u{c}".utf8)
}

/// The part of SQL's grammar that determines where a statement ends (<https://sqlite.org/lang.html>).
extension SchemaText {
    mutating func next() -> SQLTokens.Token? { tokens.next() }

    private mutating func readKeywords() throws {
        let isCreate = tokens.isWord(next(), "CREATE")
        var isKind = false
        switch kind {
        case .table: isKind = tokens.isWord(next(), "TABLE")
        case .virtualTable: isKind = tokens.isWord(next(), "VIRTUAL") && tokens.isWord(next(), "TABLE")
        case .trigger: isKind = tokens.isWord(next(), "TRIGGER")
        case .view: isKind = tokens.isWord(next(), "VIEW")
        case .index:
            var word = next()
            isUnique = tokens.isWord(word, "UNIQUE")
            if isUnique { word = next() }
            isKind = tokens.isWord(word, "INDEX")
        }
        guard isCreate, isKind else { throw entry.refusal("it is not a CREATE \(kind.rawValue)") }
    }

    private mutating func readTable() throws {
        guard next()?.kind == .opening else { throw entry.refusal("no list of columns follows the name") }
        try skipToClosing()
        // WITHOUT ROWID and STRICT.
        while let token = try nextInStatement() {
            let isOption = tokens.isWord(token, "WITHOUT") || tokens.isWord(token, "ROWID") || tokens.isWord(token, "STRICT")
            guard isOption || tokens.text(token) == "," else {
                throw entry.refusal("more than a table follows the list of columns")
            }
        }
    }

    private mutating func readVirtualTable() throws {
        guard tokens.isWord(next(), "USING"), let name = tokens.name(next()) else {
            throw entry.refusal("no module follows the name")
        }
        module = SQLName(name)
        guard let token = try nextInStatement() else { return }
        guard token.kind == .opening else { throw entry.refusal("no arguments follow the module") }
        try skipToClosing()
        guard try nextInStatement() == nil else { throw entry.refusal("more than a table follows the arguments") }
    }

    private mutating func readIndex() throws {
        guard tokens.isWord(next(), "ON"), tokens.name(next()).isSameName(as: entry.table), next()?.kind == .opening else {
            throw entry.refusal("it is not an index of \(entry.table)")
        }
        try skipToClosing()
        guard let token = try nextInStatement() else { return }
        guard tokens.isWord(token, "WHERE") else { throw entry.refusal("more than an index follows its columns") }
        try skipToEnd()
    }

    private mutating func readView() throws {
        var token = next()
        if token?.kind == .opening {
            try skipToClosing()
            token = next()
        }
        guard tokens.isWord(token, "AS") else { throw entry.refusal("no query follows the name") }
        token = next()
        guard ["SELECT", "VALUES", "WITH"].contains(where: { tokens.isWord(token, $0) }) else {
            throw entry.refusal("no query follows the name")
        }
        try skipToEnd()
    }

    /// Reads a trigger. A semicolon ends a statement of the body; END right after one ends the trigger.
    private mutating func readTrigger() throws {
        var token = next()
        guard ["BEFORE", "AFTER", "INSTEAD", "INSERT", "UPDATE", "DELETE"].contains(where: { tokens.isWord(token, $0) }) else {
            throw entry.refusal("no event follows the name")
        }
        while token != nil, !tokens.isWord(token, "ON") { token = try nextInStatement() }
        var table = tokens.name(next())
        token = next()
        if let dot = token, tokens.text(dot) == "." {
            table = tokens.name(next())
            token = next()
        }
        guard table.isSameName(as: entry.table) else { throw entry.refusal("it is not a trigger of \(entry.table)") }
        var hasBegun = false
        while let found = token, found.kind != .semicolon {
            guard found.kind != .unreadable else { break }
            hasBegun = hasBegun || tokens.isWord(found, "BEGIN")
            token = next()
        }
        guard hasBegun else { throw entry.refusal("it has no body") }
        while token?.kind == .semicolon {
            token = next()
            if tokens.isWord(token, "END") {
                guard try nextInStatement() == nil else { throw entry.refusal("more than a trigger follows its end") }
                return
            }
            guard Self.changes.contains(where: { tokens.isWord(token, $0) }) else {
                throw entry.refusal("its body holds a statement that a trigger may not have")
            }
            while let found = token, found.kind != .semicolon, found.kind != .unreadable { token = next() }
        }
        throw entry.refusal("it does not end")
    }

    private static let changes: [StaticString] = ["INSERT", "REPLACE", "UPDATE", "DELETE", "SELECT", "VALUES", "WITH"]

    /// The next token of the statement; nil at its end, which may be a semicolon.
    private mutating func nextInStatement() throws -> SQLTokens.Token? {
        guard let token = next() else { return nil }
        if token.kind == .unreadable { throw entry.refusal("a quote or bracket in it is not closed, or a character is not SQL") }
        guard token.kind == .semicolon else { return token }
        guard next() == nil else { throw entry.refusal("it holds more than one statement") }
        return nil
    }

    private mutating func skipToClosing() throws {
        var depth = 1
        while depth > 0 {
            guard let token = try nextInStatement() else { throw entry.refusal("a parenthesis in it is not closed") }
            if token.kind == .opening { depth += 1 } else if token.kind == .closing { depth -= 1 }
        }
    }

    private mutating func skipToEnd() throws {
        while let token = try nextInStatement() {
            if token.kind == .opening { try skipToClosing() } else if token.kind == .closing {
                throw entry.refusal("a parenthesis in it was not opened")
            }
        }
    }
}
