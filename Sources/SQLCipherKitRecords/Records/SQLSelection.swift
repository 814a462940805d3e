import SQLCipherKitCore

/// A query for values instead of records; see ``SQLQueryable``.
public struct SQLSelection<Element>: Sendable {
    /// Receives the first row of a result, and returns a closure that reads each row.
    typealias Reader = @Sendable (borrowing Row) throws -> (borrowing Row) throws -> Element

    typealias Form = SQLValueList.Form

    var clauses: SQLClauses
    /// The expressions to read; nil for all columns of the tables.
    let list: SQL?
    /// The form of each of the expressions; nil for all columns of the tables.
    let forms: [Form]?
    let reader: Reader
    /// Reads all rows with several statements; nil for a query that is one statement.
    var fetcher: (@Sendable (SQLClauses, Connection) throws -> [Element])?

    init(_ clauses: SQLClauses, _ list: SQL? = nil, _ forms: [Form]? = nil, reader: @escaping Reader) {
        self.clauses = clauses
        self.list = list
        self.forms = forms
        self.reader = reader
    }

    /// A query for the values of expressions.
    init(_ clauses: SQLClauses, _ columns: SQLValueList, read: @escaping @Sendable (borrowing Row) throws -> Element) {
        self.init(clauses, columns.sql, columns.forms, reader: { _ in read })
    }

    /// The query as part of another statement.
    var subquery: SQL { clauses.subquery(list ?? clauses.records) }

    /// As part of a compound, which takes an order and a limit only for the whole.
    private var part: SQL {
        let isWhole = clauses.common.isEmpty && clauses.orderings.isEmpty && clauses.limit == nil && clauses.offset == 0
        return isWhole ? subquery : "SELECT * FROM (\(subquery))"
    }

    func compound(_ keyword: String, _ other: SQLSelection) -> Self {
        var made = SQLClauses(clauses.sides[0].table, query: "\(part) \(raw: keyword) \(other.part(like: self))")
        made.failure = clauses.failure ?? other.clauses.failure
        if fetcher != nil || other.fetcher != nil { made.failure = .misuse("a compound of queries with associations") }
        if list == nil, clauses.sides.count > 1 { made.failure = .misuse("a compound of joins: select values first") }
        return SQLSelection(made, list == nil ? nil : "*", forms, reader: reader)
    }

    /// As part of a compound with another query, in the forms of that query's columns.
    private func part(like other: SQLSelection) -> SQL {
        guard let forms, let wanted = other.forms, forms.count == wanted.count,
            !zip(forms, wanted).allSatisfy({ SQLForm.isSame($0.profile, $1.profile, $0.type) })
        else { return part }
        let mapped = mapped { column, place in
            let (form, wanted) = (forms[place], wanted[place].profile)
            if SQLForm.isSame(form.profile, wanted, form.type) { return column }
            return SQLForm.convert(column, form.type, from: form.profile, to: wanted)
        }
        return "SELECT * FROM (\(mapped))"
    }

    /// The query as part of another statement, with its columns changed.
    /// - Parameter change: gets a column and its place.
    func mapped(_ change: (SQL, Int) -> SQL) -> SQL {
        let names = (0..<(forms?.count ?? 1)).map { number -> SQL in "\(identifier: "c\(number)")" }
        return """
            WITH sqlcipherkit_part(\(list: names)) AS (\(subquery)) \
            SELECT \(list: names.enumerated().map { change($0.element, $0.offset) }) FROM sqlcipherkit_part
            """
    }

    /// Each distinct row once.
    public func distinct() -> Self {
        var copy = self
        copy.clauses.isDistinct = true
        return copy
    }

    func sql(_ form: SQLClauses.Form, _ db: Connection) throws(DatabaseError) -> SQL {
        guard form == .rows, list == nil else { return try clauses.request(form, list ?? clauses.records, db) }
        if let sql = clauses.plainSelect(isFirst: clauses.isFirst) { return sql }
        return try clauses.request(form, clauses.records, db)
    }
}

/// A query that a connection can run: a ``SQLQueryable`` or a ``SQLSelection``.
///
/// Your own type can conform too, and can then be passed to ``Connection/fetchAll(_:)`` and similar methods:
/// ```swift
/// struct PopularNotes: SQLRequest {
///     var stars: Int
///     var selection: SQLSelection<Note> { Note.filter { $0.stars >= stars }.selection }
/// }
/// ```
public protocol SQLRequest<Element> {
    /// The type that each row is read as.
    associatedtype Element

    /// The values to read and the tables to read them from.
    var selection: SQLSelection<Element> { get }
}

extension SQLSelection: SQLRequest {
    public var selection: Self { self }
}

extension SQLRequest {
    /// Makes something else of each row, such as a type of your own, which can be `Hashable` where a tuple cannot.
    /// ```swift
    /// struct Shelf: Hashable, Sendable {
    ///     var folder: Folder
    ///     var notes: [Note]
    /// }
    /// let shelves = try db.fetchAll(Folder.including(Folder.notes).map(Shelf.init))
    /// ```
    public func map<T>(_ transform: @escaping @Sendable (Element) throws -> T) -> SQLSelection<T> {
        let whole = selection
        let reader: SQLSelection<T>.Reader = { row in
            let read = try whole.reader(row)
            return { row in try transform(try read(row)) }
        }
        var mapped = SQLSelection<T>(whole.clauses, whole.list, whole.forms, reader: reader)
        if let fetch = whole.fetcher { mapped.fetcher = { clauses, db in try fetch(clauses, db).map(transform) } }
        return mapped
    }
}
