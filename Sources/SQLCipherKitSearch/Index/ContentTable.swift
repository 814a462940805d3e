import SQLCipherKitCore

/// The columns and keys of a table whose text is indexed as external content.
struct ContentTable {
    /// A unique key: its columns and expressions, each with the collation that decides equality, and for a partial index its
    /// condition.
    struct UniqueKey {
        var terms: [(column: String?, expression: String, collation: String)]
        var condition: String?

        /// Whether the key consists of exactly these columns and applies to all rows.
        func isKey(_ columns: [String]) -> Bool {
            condition == nil && terms.count == columns.count
                && zip(terms, columns).allSatisfy { $0.column?.isSameName(as: $1) == true }
        }

        /// The SQL of the key's expressions and of its condition.
        var expressions: [String] { terms.filter { $0.column == nil }.map(\.expression) + (condition.map { [$0] } ?? []) }
    }

    enum RowID {
        /// This column is the row id itself.
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
    func contentTable(_ table: String) throws(DatabaseError) -> ContentTable {
        let columns = try columns(of: table)
        guard !columns.isEmpty else { throw .invalidArgument("there is no table \(name).\(table) to take content from") }
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
            throw .invalidArgument(
                "\(table) has no primary key: VACUUM may renumber its rows, so that an index on them would point to others")
        }
        return ContentTable(
            name: table, columns: columns.map(\.name), generated: columns.filter(\.isGenerated).map(\.name).nameSet, rowID: rowID,
            uniqueKeys: uniqueKeys)
    }

    /// The key of a unique index; nil if the index's SQL cannot be parsed.
    private func uniqueKey(ofIndex index: String) throws(DatabaseError) -> ContentTable.UniqueKey? {
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
        let sql = Array(sql.utf8)
        var position = 0
        var depth = 0
        var term: [UInt8] = []
        while position < sql.count {
            let end = Self.token(in: sql, at: position)
            defer { position = end }
            let byte = sql[position]
            if end == position + 1, byte == UInt8(ascii: "(") {
                depth += 1
                if depth == 1 { continue }
            } else if end == position + 1, byte == UInt8(ascii: ")") {
                depth -= 1
                if depth == 0 {
                    terms.append(Self.withoutOrder(term))
                    condition = Self.condition(sql[end...])
                    return
                }
            } else if end == position + 1, byte == UInt8(ascii: ","), depth == 1 {
                terms.append(Self.withoutOrder(term))
                term = []
                continue
            }
            if depth > 0 { term += sql[position..<end] }
        }
    }

    /// The end of the token at a position: a string, a quoted name, a comment, or a single byte.
    private static func token(in sql: [UInt8], at start: Int) -> Int {
        func end(_ found: Int?, _ length: Int) -> Int { found.map { $0 + length } ?? sql.count }
        let next = start + 1 < sql.count ? sql[start + 1] : 0
        switch sql[start] {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): return end(sql[(start + 1)...].firstIndex(of: sql[start]), 1)
        case UInt8(ascii: "["): return end(sql[start...].firstIndex(of: UInt8(ascii: "]")), 1)
        case UInt8(ascii: "-") where next == UInt8(ascii: "-"): return end(sql[start...].firstIndex(of: 10), 1)
        case UInt8(ascii: "/") where next == UInt8(ascii: "*"):
            var position = start + 2
            while position + 1 < sql.count {
                if sql[position] == UInt8(ascii: "*"), sql[position + 1] == UInt8(ascii: "/") { return position + 2 }
                position += 1
            }
            return sql.count
        default: return start + 1
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

    private static func withoutOrder(_ term: [UInt8]) -> String {
        var term = term[...]
        while let last = term.last, isBlank(last) { term.removeLast() }
        for order in ["asc", "desc"] where term.count > order.utf8.count {
            let word = term.suffix(order.utf8.count)
            guard word.map(\.lowercasedASCII).elementsEqual(order.utf8) else { continue }
            let before = term[word.startIndex - 1]
            if isBlank(before) || before == UInt8(ascii: ")") || before == UInt8(ascii: "\"") {
                term = term[..<word.startIndex]
            }
            break
        }
        return String(decoding: term, as: UTF8.self)
    }

    /// The condition after `WHERE`, which may follow the list of terms.
    private static func condition(_ rest: ArraySlice<UInt8>) -> String? {
        let text = Array(rest)
        var position = 0
        while position < text.count {
            let end = token(in: text, at: position)
            if !isBlank(text[position]), end == position + 1 {
                guard text[position...].prefix(5).map(\.lowercasedASCII).elementsEqual("where".utf8) else { return nil }
                return String(decoding: text[(position + 5)...], as: UTF8.self)
            }
            position = end
        }
        return nil
    }
}
