import SQLCipherKitCore

/// The description of an index (<https://sqlite.org/lang_createindex.html>).
/// ```swift
/// SQLTable(of: Note.self) {
///     $0.id.primaryKey()
///     $0.title
///     $0.created
///     SQLIndex("note_title", on: [$0.title], isUnique: true)
///     SQLIndex("note_newest", on: [.column($0.created, isDescending: true)])
///     SQLIndex("note_words", on: [.expression("length(title)", isDescending: true)], where: "title <> ''")
/// }
/// ```
public struct SQLIndex: Sendable {
    /// A term that an index sorts by.
    public struct Term: Sendable {
        private enum Base {
            case column(SQLColumn), expression(SQL)
        }

        private var base: Base
        private let collation: String?
        private let isDescending: Bool

        /// A column.
        /// - Parameters:
        ///   - column: the column.
        ///   - collation: the collation that sorts the term. Default: nil, for the column's own collation.
        ///   - isDescending: whether the term sorts in descending order. Default: false.
        public static func column(_ column: SQLColumn, collation: String? = nil, isDescending: Bool = false) -> Term {
            Term(base: .column(column), collation: collation, isDescending: isDescending)
        }

        /// An expression, without bound values, that gives the same value each time for the same row.
        /// - Parameters:
        ///   - sql: the expression.
        ///   - collation: the collation that sorts the term. Default: nil, for the expression's own collation.
        ///   - isDescending: whether the term sorts in descending order. Default: false.
        public static func expression(_ sql: SQL, collation: String? = nil, isDescending: Bool = false) -> Term {
            Term(base: .expression(sql), collation: collation, isDescending: isDescending)
        }

        var sql: SQL {
            let collate: SQL = if let collation { " COLLATE \(identifier: collation)" } else { "" }
            let base: SQL =
                switch base {
                case .column(let column): "\(identifier: column.name)"
                case .expression(let sql): sql
                }
            return "\(base)\(collate)\(raw: isDescending ? " DESC" : "")"
        }

        fileprivate func resolved(_ names: [AnyProperty: String]) -> Term {
            guard case .column(let column) = base else { return self }
            var term = self
            term.base = .column(column.resolved(names))
            return term
        }
    }

    /// The index's name.
    package var name: String
    /// The terms that it sorts by.
    package var terms: [Term]
    /// True if the index is unique, so that no two rows may have equal terms.
    package var isUnique: Bool
    /// The condition for rows to be in the index, without bound values; nil for all rows (<https://sqlite.org/partialindex.html>).
    package var condition: SQL?

    /// An index on columns: `on: [$0.title]` in a record's description, `on: ["title"]` elsewhere.
    /// - Parameters:
    ///   - name: the index's name.
    ///   - columns: the columns that the index sorts by, the most significant column first.
    ///   - isUnique: whether no two rows may have equal terms. Default: false.
    ///   - condition: the condition for rows to be in the index, without bound values. Default: nil, for all rows.
    public init(_ name: String, on columns: [SQLColumn], isUnique: Bool = false, where condition: SQL? = nil) {
        self.init(name, on: columns.map { .column($0) }, isUnique: isUnique, where: condition)
    }

    /// An index on columns in another order or with another collation, or on expressions.
    /// - Parameters:
    ///   - name: the index's name.
    ///   - terms: the terms that the index sorts by, the most significant term first.
    ///   - isUnique: whether no two rows may have equal terms. Default: false.
    ///   - condition: the condition for rows to be in the index, without bound values. Default: nil, for all rows.
    public init(_ name: String, on terms: [Term], isUnique: Bool = false, where condition: SQL? = nil) {
        self.name = name
        self.terms = terms
        self.isUnique = isUnique
        self.condition = condition
    }

    /// The index with the names that the table gives its properties.
    func resolved(_ names: [AnyProperty: String]) -> SQLIndex {
        var index = self
        index.terms = terms.map { $0.resolved(names) }
        return index
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
