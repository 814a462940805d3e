import SQLCipherKitCore

/// A query for the records of a table, or of joined tables, as a value. Nothing is run until it is passed to a connection.
/// ```swift
/// let query = Note.filter { $0.title.like(.hasPrefix("P")) && $0.stars > 3 }.order { $0.stars.descending; $0.id }.limit(10)
/// let notes = try db.fetchAll(query)
/// // SELECT "note".* FROM "note" WHERE "note"."title" LIKE ? ESCAPE '\' AND "note"."stars" > ?
/// // ORDER BY "note"."stars" DESC, "note"."id" LIMIT ?
///
/// for (author, book) in try db.fetchAll(Author.leftJoin(Book.self)) {
///     print(author.name, book?.title ?? "nothing yet")
/// }
/// ```
/// The closures receive the columns of each table, in order: `{ $0.id < $1.id }` or `{ author, book in author.id < book.id }`.
/// Values in them are bound. ``Connection/sql(of:)`` shows the statement.
///
/// ``SQLQuery``, ``SQLJoin`` and the joins of three and four tables conform to it. Your own type that wraps such a query can
/// conform too.
public protocol SQLQueryable<Element>: SQLRequest, SQLFilterable, Sendable {
    /// The columns of the table, or a tuple of the columns of each table.
    associatedtype Columns

    /// The query's content, which filtering, ordering and the like modify.
    var selection: SQLSelection<Element> { get set }

    /// The columns, for the closures that define conditions and orders.
    var columns: Columns { get }
}

/// A query or an association, with conditions and an order. An extension serves both:
/// ```swift
/// extension SQLFilterable where Columns == SQLColumns<Note> {
///     func starred() -> Self { filter { $0.stars > 3 }.order { $0.title } }
/// }
/// let notes = try db.fetchAll(Note.all.starred())
/// let folders = try db.fetchAll(Folder.including(Folder.notes.starred()))
/// ```
public protocol SQLFilterable<Columns> {
    /// The columns of the table, or a tuple of the columns of each table.
    associatedtype Columns

    /// Keeps only the rows that match a condition.
    func filter(_ condition: (Columns) -> SQLPredicate) -> Self

    /// Sorts by terms.
    func order(@SQLOrderingBuilder by terms: (Columns) -> [SQLOrdering]) -> Self
}

extension SQLQueryable {
    private func changed(_ body: (inout SQLClauses) -> Void) -> Self {
        var copy = self
        body(&copy.selection.clauses)
        return copy
    }

    /// The query with unique table names, and the result of a closure on its columns.
    func with<R>(_ body: (Columns) -> R) -> (Self, R) {
        var copy = self
        if let renamed = selection.clauses.renamedForScope { copy.selection.clauses = renamed }
        let columns = copy.columns
        return (copy, SQLScope.within(copy.selection.clauses) { body(columns) })
    }

    /// The rows that match a condition. After several calls, rows must match all conditions.
    ///
    /// Another query in the closure may use the columns, even a query of the same table, which then gets another name:
    /// ```swift
    /// Folder.filter { folder in Folder.filter { $0.parent == folder.id }.exists }
    /// ```
    public func filter(_ condition: (Columns) -> SQLPredicate) -> Self { filtered(condition) }

    func filtered(_ condition: (Columns) -> SQLPredicate) -> Self {
        let (query, condition) = with(condition)
        return query.changed { $0.filter = $0.filter.map { $0 && condition } ?? condition }
    }

    /// Sorts the rows, with one term per line. Further calls add terms, which decide when all earlier terms are equal.
    public func order(@SQLOrderingBuilder by terms: (Columns) -> [SQLOrdering]) -> Self {
        let (query, terms) = with(terms)
        return query.changed { clauses in
            clauses.orderings += terms.map(\.term)
            // Beside the order, not in it, so that an index on a column of the order is used.
            for check in terms.compactMap(\.check) {
                let isOrdered = SQLPredicate("\(check) IS NULL", .comparison)
                clauses.filter = clauses.filter.map { $0 && isOrdered } ?? isOrdered
            }
        }
    }

    /// At most `count` rows, after skipping `offset` rows.
    /// - Parameters:
    ///   - count: the maximum number of rows, 0 or more.
    ///   - offset: the number of rows to skip, 0 or more. Default: 0.
    public func limit(_ count: Int, offset: Int = 0) -> Self {
        changed {
            $0.limit = count
            $0.offset = offset
        }
    }

    /// All rows except the first `count`.
    public func offset(_ count: Int) -> Self { changed { $0.offset = count } }

    /// Removes duplicate rows.
    public func distinct() -> Self { changed { $0.isDistinct = true } }

    /// Returns a row for each group of rows that are equal in these expressions, for `select` with aggregate functions.
    /// ```swift
    /// Book.all.group { $0.author }.having { _ in .countAll > 2 }.select { ($0.author, .countAll) }
    /// ```
    public func group(@SQLOrderingBuilder by terms: (Columns) -> [SQLOrdering]) -> Self {
        let (query, terms) = with(terms)
        return query.changed { $0.groups += terms.map(\.term) }
    }

    /// The groups that match a condition.
    public func having(_ condition: (Columns) -> SQLPredicate) -> Self {
        let (query, condition) = with(condition)
        return query.changed { $0.having = $0.having.map { $0 && condition } ?? condition }
    }

    /// Gives the last table another name, for your own SQL that refers to it. Call this before its columns are used.
    /// ```swift
    /// Folder.filter { folder in
    ///     Folder.all.aliased("child").filter { $0.parent == folder.id && SQLPredicate("child.size > 5") }.exists
    /// }
    /// ```
    public func aliased(_ alias: String) -> Self { changed { $0.sides[$0.sides.count - 1].alias = alias } }

    /// Takes the query's last table from one database of the connection. Otherwise SQL uses the first database that has the table.
    /// ```swift
    /// let notes = try db.fetchAll(Note.in(archive).filter { $0.stars > 3 })
    /// let pairs = try db.fetchAll(Author.in(db.main).join(Book.self).in(archive))
    /// ```
    public func `in`(_ schema: Schema) -> Self { changed { $0.sides[$0.sides.count - 1].table.schema = schema.name } }

    /// Selects values instead of records: a column, an aggregate function or your own expression.
    /// ```swift
    /// let titles = try db.fetchAll(Note.all.select { $0.title })
    /// ```
    public func select<Value: SQLValueConvertible>(
        _ expression: (Columns) -> SQLExpression<Value>
    ) -> SQLSelection<Value> {
        let (query, list) = with { SQLValueList(expression($0)) }
        return SQLSelection(query.selection.clauses, list, read: { row in try list.read(row) })
    }

    /// Selects a value of a `Codable` type, such as an enumeration or a document.
    @_disfavoredOverload
    public func select<Value: Decodable & Sendable>(_ expression: (Columns) -> SQLExpression<Value>) -> SQLSelection<Value> {
        let (query, list) = with { SQLValueList(expression($0)) }
        return SQLSelection(query.selection.clauses, list, read: { row in try list.readCoded(row) })
    }

    /// Selects several values instead of records, as a tuple.
    /// ```swift
    /// let (count, best) = try db.fetchOne(Note.all.select { (.countAll, $0.stars.max()) }) ?? (0, nil)
    /// ```
    @_disfavoredOverload
    public func select<each Value: SQLValueConvertible>(
        _ expressions: (Columns) -> (repeat SQLExpression<each Value>)
    ) -> SQLSelection<(repeat each Value)> {
        let (made, list) = with { columns in
            let expressions = expressions(columns)
            return SQLValueList(repeat each expressions)
        }
        var query = made
        if list.isEmpty {
            query.selection.clauses.failure = DatabaseError.misuse("the closure of a select returned no expressions")
        }
        return SQLSelection(query.selection.clauses, list, read: { row in try list.read(row) })
    }

    /// A window function has no value without its rows.
    @available(*, unavailable, message: "a window function needs the rows that it is computed over: add .over(SQLWindow(…))")
    public func select<Value>(_ expression: (Columns) -> SQLWindowValue<Value>) -> SQLSelection<Value> {
        SQLSelection(selection.clauses, "NULL", reader: { _ in throw DatabaseError.misuse("a window function needs rows") })
    }

    /// A condition for another query: true if this query has any rows.
    public var exists: SQLPredicate { SQLPredicate("EXISTS (\(selection.clauses.subquery("1")))", .atom) }
}

/// Common table expressions (<https://sqlite.org/lang_with.html>).
extension SQLQueryable {
    /// Lets a record's rows come from a query instead of its table, within this query: you can join these rows, and the queries in
    /// the closures can read them.
    /// ```swift
    /// struct Total: SQLRecord {
    ///     var artist: Int64
    ///     var tracks: Int
    /// }
    /// let totals = Album.filter { $0.artist != nil }.group { $0.artist }.select { ($0.artist, $0.tracks.sum() ?? 0) }
    /// let long = Artist.with(Total.self, as: totals).join(Total.self) { $0.id == $1.artist && $1.tracks > 20 }
    /// ```
    /// The query's values are the record's columns, in order. In a query for records, the columns match by their names. A `union`
    /// or `unionAll` whose second part reads the same record is a recursion, which ends when it finds no further row:
    /// ```swift
    /// struct Level: SQLRecord {
    ///     var folder: Int64
    ///     var depth: Int
    /// }
    /// let levels = Folder.filter { $0.parent == nil }.select { ($0.id, SQLExpression<Int>("0")) }
    ///     .unionAll(Folder.join(Level.self) { $0.parent == $1.folder }.select { ($0.id, $1.depth + 1) })
    /// let deep = Level.with(Level.self, as: levels).filter { $0.depth > 3 }
    /// ```
    /// Call this method before the closures that read the record. Within the query, the record's rows hide a table of the same
    /// name. Values in another form than the record's columns are converted. In a recursion they cannot be converted, so SQLite
    /// refuses the query.
    public func with<Row: SQLRecord>(_ type: Row.Type, as query: some SQLRequest) -> Self {
        var copy = self
        do {
            copy.selection.clauses.common.append(try query.selection.common(Row.self, of: query))
        } catch {
            copy.selection.clauses.failure = copy.selection.clauses.failure ?? error
        }
        return copy
    }

    /// Lets a record's rows come from your own SQL instead of its table, within this query. The SQL must return the record's
    /// columns by their names.
    /// ```swift
    /// struct Day: SQLRecord { var number: Int }
    /// let days = Day.with(Day.self, as: "SELECT 1 AS number UNION ALL SELECT number + 1 FROM day WHERE number < \(31)")
    /// ```
    public func with<Row: SQLRecord>(_ type: Row.Type, as sql: SQL) -> Self {
        var copy = self
        copy.selection.clauses.common.append("\(identifier: Row.source.name) AS (\(sql))")
        return copy
    }
}

extension SQLRecord {
    /// All records, with a query as the table of a record; see ``SQLQueryable/with(_:as:)-(_,SQLRequest)``.
    public static func with<Row: SQLRecord>(_ type: Row.Type, as query: some SQLRequest) -> SQLQuery<Self> {
        all.with(type, as: query)
    }

    /// All records, with the rows of SQL as the table of a record.
    public static func with<Row: SQLRecord>(_ type: Row.Type, as sql: SQL) -> SQLQuery<Self> { all.with(type, as: sql) }
}

extension SQLSelection {
    /// The query as the table of a record in WITH.
    fileprivate func common<Row: SQLRecord, Request: SQLRequest>(
        _ type: Row.Type, of request: Request
    ) throws -> SQL {
        if let failure = clauses.failure { throw failure }
        if fetcher != nil { throw DatabaseError.misuse("a query with associations cannot be the table \(Row.tableName)") }
        let table = Row.source, profiles = Row.columnProfiles
        let name: SQL = "\(identifier: table.name)"
        guard list != nil else {
            let own = (Request.Element.self as? any ColumnCodingCustomizable.Type)?.columnProfiles
            guard let own, clauses.sides.count == 1 else {
                throw DatabaseError.misuse("a join cannot be the table \(table.name): select values first")
            }
            if own != profiles {
                throw DatabaseError.misuse("\(Request.Element.self) does not store values as \(Row.self) does: select values first")
            }
            return "\(name) AS (\(whole))"
        }
        let names = table.knownNames
        if names.contains("") { throw DatabaseError.misuse("the columns of \(table.name) are not known: describe it") }
        let forms = forms ?? []
        if names.count != forms.count {
            throw DatabaseError.misuse("the table \(table.name) has \(names.count) columns, and its query \(forms.count) values")
        }
        let isSame = zip(names, forms).allSatisfy { SQLForm.isSame($1.profile, profiles[$0], $1.type) }
        let rows = isSame ? whole : mapped { column, place in
            SQLForm.convert(column, forms[place].type, from: forms[place].profile, to: profiles[names[place]])
        }
        return "\(name)(\(list: names.map { "\(identifier: $0)" as SQL })) AS (\(rows))"
    }

    /// The query, a compound as it is: only so can its second part read its own rows.
    private var whole: SQL {
        let isCompound = list?.text == "*" || list == nil
        guard isCompound, clauses.isPlain, clauses.filter == nil, clauses.orderings.isEmpty, clauses.common.isEmpty,
            let query = clauses.sides[0].query
        else { return subquery }
        return query
    }
}
