/// The part of SQL's grammar that determines where a statement ends (<https://sqlite.org/lang.html>).
extension SchemaText {
    mutating func next() -> SQLTokens.Token? { tokens.next() }

    mutating func readKeywords() throws(DatabaseError) {
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

    mutating func readTable() throws(DatabaseError) {
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

    mutating func readVirtualTable() throws(DatabaseError) {
        guard tokens.isWord(next(), "USING"), let name = tokens.name(next()) else {
            throw entry.refusal("no module follows the name")
        }
        module = SQLName(name)
        guard let token = try nextInStatement() else { return }
        guard token.kind == .opening else { throw entry.refusal("no arguments follow the module") }
        try skipToClosing()
        guard try nextInStatement() == nil else { throw entry.refusal("more than a table follows the arguments") }
    }

    mutating func readIndex() throws(DatabaseError) {
        guard tokens.isWord(next(), "ON"), tokens.name(next()).isSameName(as: entry.table), next()?.kind == .opening else {
            throw entry.refusal("it is not an index of \(entry.table)")
        }
        try skipToClosing()
        guard let token = try nextInStatement() else { return }
        guard tokens.isWord(token, "WHERE") else { throw entry.refusal("more than an index follows its columns") }
        try skipToEnd()
    }

    mutating func readView() throws(DatabaseError) {
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
    mutating func readTrigger() throws(DatabaseError) {
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
    private mutating func nextInStatement() throws(DatabaseError) -> SQLTokens.Token? {
        guard let token = next() else { return nil }
        if token.kind == .unreadable { throw entry.refusal("a quote or bracket in it is not closed, or a character is not SQL") }
        guard token.kind == .semicolon else { return token }
        guard next() == nil else { throw entry.refusal("it holds more than one statement") }
        return nil
    }

    private mutating func skipToClosing() throws(DatabaseError) {
        var depth = 1
        while depth > 0 {
            guard let token = try nextInStatement() else { throw entry.refusal("a parenthesis in it is not closed") }
            if token.kind == .opening { depth += 1 } else if token.kind == .closing { depth -= 1 }
        }
    }

    private mutating func skipToEnd() throws(DatabaseError) {
        while let token = try nextInStatement() {
            if token.kind == .opening { try skipToClosing() } else if token.kind == .closing {
                throw entry.refusal("a parenthesis in it was not opened")
            }
        }
    }
}
