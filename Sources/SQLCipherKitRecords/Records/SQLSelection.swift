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
        if fetcher != nil || other.fetcher != nil { made.failure = DatabaseError.misuse("a compound cannot have associations") }
        if list == nil, clauses.sides.count > 1 { made.failure = DatabaseError.misuse("a compound of joins needs selected values") }
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

    /// Removes duplicate rows.
    public func distinct() -> Self {
        var copy = self
        copy.clauses.isDistinct = true
        return copy
    }

    func sql(_ form: SQLClauses.Form, _ db: Connection) throws -> SQL {
        guard form == .rows, list == nil else { return try clauses.request(form, list ?? clauses.records, db) }
        if let sql = clauses.plainSelect(isFirst: clauses.isFirst) { return sql }
        return try clauses.request(form, clauses.records, db)
    }
}

/// A query that a connection can run: an ``SQLQueryable`` or an ``SQLSelection``.
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
    /// Converts each row, for example to your own type, which can be `Hashable` where a tuple cannot.
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

/// Compounds of queries (<https://sqlite.org/lang_select.html#compound_select_statements>).
/// ```swift
/// let words = Book.all.select { $0.title }.union(Author.all.select { $0.name })
/// let first = try db.fetchAll(words.order(byColumn: 1).limit(20))
/// ```
/// The order and the limit of each part are its own; an order and a limit after them apply to the whole.
extension SQLSelection {
    /// The rows of both queries, each different row once.
    public func union(_ other: some SQLRequest<Element>) -> Self { compound("UNION", other.selection) }

    /// All rows of both queries, including duplicates.
    public func unionAll(_ other: some SQLRequest<Element>) -> Self { compound("UNION ALL", other.selection) }

    /// The rows that both queries have, each different row once.
    public func intersect(_ other: some SQLRequest<Element>) -> Self { compound("INTERSECT", other.selection) }

    /// The rows that the other query does not have, each different row once.
    public func except(_ other: some SQLRequest<Element>) -> Self { compound("EXCEPT", other.selection) }

    /// Sorts the rows by a column of the result, counted from 1. Further calls add columns, which decide the order of rows that are
    /// equal in all earlier columns.
    /// - Parameters:
    ///   - number: the column, counted from 1.
    ///   - descending: whether the order is descending. Default: false.
    public func order(byColumn number: Int, descending: Bool = false) -> Self {
        var copy = self
        copy.clauses.orderings.append("\(raw: String(number))\(raw: descending ? " DESC" : "")")
        if let form = form(ofColumn: number), let check = SQLForm.orderCheck(form.type, form.profile) {
            copy.clauses.orderings.append(check)
        }
        return copy
    }

    /// Returns the form in which a column of the result is stored; nil if that is not known.
    private func form(ofColumn number: Int) -> SQLValueList.Form? {
        if let forms { return forms.indices.contains(number - 1) ? forms[number - 1] : nil }
        let table = clauses.sides[0].table
        // Of another table, the database alone knows the order of the columns.
        guard list == nil, clauses.sides.count == 1, table.plain == nil, table.knownNames.indices.contains(number - 1) else {
            return nil
        }
        return table.form(of: table.knownNames[number - 1])
    }

    /// At most `count` rows, after skipping `offset` rows.
    /// - Parameters:
    ///   - count: the maximum number of rows, 0 or more.
    ///   - offset: the number of rows to skip, 0 or more. Default: 0.
    public func limit(_ count: Int, offset: Int = 0) -> Self {
        var copy = self
        (copy.clauses.limit, copy.clauses.offset) = (count, offset)
        return copy
    }

    /// The first row's value as an expression of another query (<https://sqlite.org/lang_expr.html#subq>); NULL if there is no row.
    /// ```swift
    /// Author.all.select { author in
    ///     (author.name, Book.filter { $0.author == author.id }.select { $0.pages.max() }.scalarSubquery())
    /// }
    /// ```
    @_disfavoredOverload
    public func scalarSubquery() -> SQLExpression<Element?> where Element: SQLValueConvertible { single() }

    /// The first row's value, which may be NULL.
    @_documentation(visibility: private)
    public func scalarSubquery<T: SQLValueConvertible>() -> SQLExpression<Element> where Element == T? { single() }

    private func single<T>() -> SQLExpression<T> { SQLExpression("(\(subquery))", .atom, forms?.first?.profile) }
}

extension SQLQuery {
    /// The records of both queries, each different record once.
    public func union(_ other: Self) -> Self { with(selection.union(other)) }

    /// All records of both queries, including duplicates.
    public func unionAll(_ other: Self) -> Self { with(selection.unionAll(other)) }

    /// The records that both queries find.
    public func intersect(_ other: Self) -> Self { with(selection.intersect(other)) }

    /// The records that the other query does not find.
    public func except(_ other: Self) -> Self { with(selection.except(other)) }

    /// The query as a table, for a condition that applies after its limit, its groups or its order.
    /// ```swift
    /// // Of the ten longest books those that Lem wrote.
    /// Book.order { $0.pages.descending }.limit(10).subquery.filter { $0.author == lem.id }
    /// ```
    public var subquery: Self { SQLQuery(SQLClauses(table, query: selection.subquery)) }

    /// The records of this query, the records that belong to them, the records that belong to those, and so on
    /// (<https://sqlite.org/lang_with.html#recursive_common_table_expressions>). Each record is found once, so a cycle ends.
    /// ```swift
    /// let inside = Folder.filter { $0.id == root }.recursive { folder, found in folder.parent == found.id }
    /// ```
    /// - Parameter belongs: the condition that a record of the table belongs to a record that was found.
    public func recursive(_ belongs: (_ record: SQLColumns<Record>, _ found: SQLColumns<Record>) -> SQLPredicate) -> Self {
        var step = SQLClauses(table)
        step.sides.append(SQLClauses.Side(table: SQLTable(table.name), alias: SQLScope.freeName(table, step.sides)))
        let (next, found) = (step.sides[0], step.sides[1])
        let condition = SQLScope.within(step) { belongs(step.columns(0), SQLColumns(table: table, alias: found.alias)) }
        let name: SQL = "\(identifier: found.alias)"
        return SQLQuery(
            SQLClauses(
                table,
                query: """
                    WITH RECURSIVE \(name) AS (\(subquery.selection.subquery) UNION \
                    SELECT \(next.columns) FROM \(next.source) JOIN \(name) ON \(condition.condition)) SELECT * FROM \(name)
                    """))
    }

    private var table: SQLTable { selection.clauses.sides[0].table }

    private func with(_ selection: SQLSelection<Record>) -> Self {
        var copy = self
        copy.selection = selection
        return copy
    }
}
