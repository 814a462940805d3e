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
    /// Whether the text may end in a comment, which would swallow text appended to it.
    private(set) var endsInComment = false

    var isUnique = false
    private var nameRange = 0..<0
    package let entry: SchemaEntry
    var tokens: SQLTokens

    /// - Throws: ``DatabaseError/Reason/schemaText`` with a message that explains the problem.
    init(_ sql: String, _ kind: Kind, _ entry: SchemaEntry) throws(DatabaseError) {
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
