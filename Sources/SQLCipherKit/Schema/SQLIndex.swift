/// The description of an index (<https://sqlite.org/lang_createindex.html>).
/// ```swift
/// SQLTable(of: Note.self) {
///     $0.id.primaryKey()
///     $0.title
///     SQLIndex("note_title", on: [.column($0.title)], isUnique: true)
///     SQLIndex("note_words", on: [.expression("length(title)", isDescending: true)], where: "title <> ''")
/// }
/// ```
public struct SQLIndex: Sendable {
    /// What an index sorts by.
    public struct Term: Sendable {
        let sql: SQL

        private init(_ sql: SQL, _ collation: String?, _ isDescending: Bool) {
            let collate: SQL = if let collation { " COLLATE \(identifier: collation)" } else { "" }
            self.sql = "\(sql)\(collate)\(raw: isDescending ? " DESC" : "")"
        }

        /// A column.
        public static func column(_ column: SQLColumn, collation: String? = nil, isDescending: Bool = false) -> Term {
            Term("\(identifier: column.name)", collation, isDescending)
        }

        /// An expression, without bound values, that gives the same value each time for the same row.
        public static func expression(_ sql: SQL, collation: String? = nil, isDescending: Bool = false) -> Term {
            Term("\(sql)", collation, isDescending)
        }
    }

    /// The index's name.
    public var name: String
    /// What it sorts by.
    public var terms: [Term]
    /// Whether no two rows may be equal in it.
    public var isUnique: Bool
    /// Which rows are in it, without bound values; nil for all (<https://sqlite.org/partialindex.html>).
    public var condition: SQL?

    /// An index.
    public init(_ name: String, on terms: [Term], isUnique: Bool = false, where condition: SQL? = nil) {
        self.name = name
        self.terms = terms
        self.isUnique = isUnique
        self.condition = condition
    }

    func sql(table: String, schema: String?, ifNotExists: Bool) -> SQL {
        let place = schema.map { $0.quotedSQLIdentifier + "." } ?? ""
        let filter: SQL = if let condition { " WHERE \(condition)" } else { "" }
        return """
            CREATE \(raw: isUnique ? "UNIQUE " : "")INDEX \(raw: ifNotExists ? "IF NOT EXISTS " : "")\(raw: place)\
            \(identifier: name) ON \(identifier: table)(\(list: terms.map(\.sql)))\(filter)
            """
    }
}
