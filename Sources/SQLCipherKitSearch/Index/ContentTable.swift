import SQLCipherKitCore

/// The columns and keys of a table whose text is indexed as external content.
struct ContentTable {
    /// A unique key: its columns and expressions, each with the collation that decides equality, and for a partial index its
    /// condition.
    struct UniqueKey {
        var terms: [(column: String?, expression: String, collation: String)]
        var condition: String?

        /// Returns whether the key consists of exactly these columns and applies to all rows.
        func isKey(_ columns: [String]) -> Bool {
            condition == nil && terms.count == columns.count
                && zip(terms, columns).allSatisfy { $0.column?.isSameName(as: $1) == true }
        }

        /// The SQL of the key's expressions and of its condition.
        var expressions: [String] { terms.filter { $0.column == nil }.map(\.expression) + (condition.map { [$0] } ?? []) }
    }

    enum RowID {
        /// The named column is the row id itself.
        case integer(String)
        /// The primary key is not the row id, and row ids come from a table of keys.
        case mapped([(column: String, type: String, collation: String)])
    }

    let name: String
    let columns: [String]
    let generated: Set<SQLName>
    let rowID: RowID
    let uniqueKeys: [UniqueKey]
}

extension Schema {
    /// Reads a table's columns, primary key and unique indexes.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that is missing or has no primary key.
    func contentTable(_ table: String) throws -> ContentTable {
        let columns = try columns(of: table)
        guard !columns.isEmpty else {
            throw DatabaseError.invalidArgument("there is no table \(name).\(table) to take content from")
        }
        var uniqueKeys: [ContentTable.UniqueKey] = []
        var primary: [(column: String, collation: String)]?
        for (index, origin) in try uniqueIndexes(of: table) {
            if let key = try uniqueKey(ofIndex: index) { uniqueKeys.append(key) }
            if origin == .primaryKey { primary = try keyColumns(ofIndex: index) }
        }
        let rowID: ContentTable.RowID
        if let primary {
            let types = Dictionary(columns.map { (SQLName($0.name), $0.type) }, uniquingKeysWith: { first, _ in first })
            rowID = .mapped(primary.map { (column: $0.column, type: types[SQLName($0.column)] ?? "", collation: $0.collation) })
        } else if let column = columns.primaryKey.first, columns.primaryKey.count == 1 {
            // A primary key without an index of its own is the row id.
            rowID = .integer(column.name)
        } else {
            throw DatabaseError.invalidArgument(
                "\(table) has no primary key: VACUUM may renumber its rows, so that an index on them would point to other rows")
        }
        return ContentTable(
            name: table, columns: columns.map(\.name), generated: columns.filter(\.isGenerated).map(\.name).nameSet, rowID: rowID,
            uniqueKeys: uniqueKeys)
    }

    /// The key of a unique index; nil if the index's SQL cannot be parsed.
    private func uniqueKey(ofIndex index: String) throws -> ContentTable.UniqueKey? {
        let terms: [(String?, String)] = try connection.fetchAll(
            "SELECT name, coll FROM pragma_index_xinfo(\(index), \(name)) WHERE \"key\" ORDER BY seqno")
        let sql = try connection.fetchOne(
            String?.self, "SELECT sql FROM \(raw: qualified("sqlite_schema")) WHERE type = 'index' AND name = \(index)")
        // An index without SQL belongs to a constraint, which has columns only.
        let text = sql.flatMap { $0 }.map { IndexText($0) }
        if let text, text.terms.count != terms.count { return nil }
        return ContentTable.UniqueKey(
            terms: terms.enumerated().map { ($1.0, text?.terms[$0] ?? "", $1.1) }, condition: text?.condition)
    }
}

/// Parses a `CREATE INDEX` statement as SQLite stores it, for the expressions and the condition, which no pragma returns.
struct IndexText {
    /// The indexed terms, without `ASC` and `DESC`.
    private(set) var terms: [String] = []
    /// The condition of a partial index.
    private(set) var condition: String?

    init(_ sql: String) {
        let bytes = Array(sql.utf8)
        var tokens = SQLTokens(sql), depth = 0, start = 0
        // The first and the last token of a term.
        var first: SQLTokens.Token?, last: SQLTokens.Token?
        func term(before end: Int) -> String {
            let isOrder = first?.range != last?.range && (tokens.isWord(last, "ASC") || tokens.isWord(last, "DESC"))
            return String(decoding: bytes[start..<(isOrder ? last?.range.lowerBound ?? end : end)], as: UTF8.self)
        }
        while let token = tokens.next() {
            if token.kind == .opening { depth += 1 } else if token.kind == .closing { depth -= 1 }
            let isComma = depth == 1 && bytes[token.range].elementsEqual(",".utf8), isEnd = depth == 0 && token.kind == .closing
            if isComma || isEnd { terms.append(term(before: token.range.lowerBound)) }
            if isEnd { break }
            if isComma || depth == 1 && token.kind == .opening {
                (start, first, last) = (token.range.upperBound, nil, nil)
            } else {
                (first, last) = (first ?? token, token)
            }
        }
        if let word = tokens.next(), tokens.isWord(word, "WHERE") {
            condition = String(decoding: bytes[word.range.upperBound...], as: UTF8.self)
        }
    }
}
