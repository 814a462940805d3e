import SQLCipherKitCore

/// Running query values.
extension Connection {
    /// Returns all rows of a query.
    /// ```swift
    /// let notes = try db.fetchAll(Note.filter { $0.stars > 3 })
    /// for (author, book) in try db.fetchAll(Author.leftJoin(Book.self)) { … }
    /// ```
    /// - Throws: ``DatabaseError``, or any error that the record's own decoding throws.
    public func fetchAll<Request: SQLRequest>(_ request: Request) throws -> [Request.Element] {
        var elements: [Request.Element] = []
        try run(request) { element in
            elements.append(element)
            return true
        }
        return elements
    }

    /// Returns the first row of a query, or nil if there is none.
    /// - Throws: ``DatabaseError``, or any error that the record's own decoding throws.
    public func fetchOne<Request: SQLRequest>(_ request: Request) throws -> Request.Element? {
        var first: Request.Element?
        try run(request, isFirst: true) { element in
            first = element
            return false
        }
        return first
    }

    /// Returns the first row of a query for a value that may be NULL; nil if there is no row or the value is NULL.
    /// ```swift
    /// let longest = try db.fetchOne(Book.all.select { $0.pages.max() })
    /// ```
    /// - Throws: ``DatabaseError``.
    @_documentation(visibility: private)
    public func fetchOne<Request: SQLRequest, Value: SQLValueConvertible>(
        _ request: Request
    ) throws -> Value? where Request.Element == Value? {
        var first: Value?
        try run(request, isFirst: true) { element in
            first = element
            return false
        }
        return first
    }

    /// Returns a cursor over the rows of a query.
    public func cursor<Request: SQLRequest>(_ request: Request) throws -> RowCursor<Request.Element> {
        let selection = request.selection
        if selection.fetcher != nil { throw DatabaseError.includingCursor }
        var reader: ((borrowing Row) throws -> Request.Element)?
        return RowCursor(try openCursor(try selection.sql(.rows, self), [])) { row in
            if let reader { return try reader(row) }
            let made = try selection.reader(row)
            reader = made
            return try made(row)
        }
    }

    private func run<Request: SQLRequest>(
        _ request: Request, isFirst: Bool = false, _ body: (Request.Element) -> Bool
    ) throws {
        var selection = request.selection
        selection.clauses.isFirst = isFirst
        if let fetch = selection.fetcher {
            for element in try fetch(selection.clauses, self) where !body(element) { return }
            return
        }
        let sql = try selection.sql(.rows, self)
        let statement = try cached(sql)
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(sql.arguments, handle)
        guard try statement.advance(handle) else { return }
        let row = Row(handle, statement.names(handle))
        let reader = try selection.reader(row)
        repeat { guard body(try reader(row)) else { return } } while try statement.advance(handle)
    }

    /// Returns the statement that a query runs, with its values.
    /// - Throws: ``DatabaseError`` if the query cannot be written as SQL, such as a join without a foreign key.
    public func sql<Request: SQLRequest>(of request: Request) throws(DatabaseError) -> SQL {
        try request.selection.sql(.rows, self)
    }

    /// Returns how SQLite runs a query: a line for each step, indented below the step that it is part of
    /// (<https://sqlite.org/eqp.html>).
    /// ```swift
    /// let plan = try db.plan(of: Note.filter { $0.title == "Plan" })
    /// // ["SEARCH note USING INDEX note_title (title=?)"]
    /// ```
    /// - Throws: ``DatabaseError`` if the query cannot be written as SQL, or SQLite refuses it.
    public func plan<Request: SQLRequest>(of request: Request) throws(DatabaseError) -> [String] {
        let sql = try sql(of: request)
        var depths: [Int: Int] = [:]
        let steps: [(Int, Int, Int, String)] = try fetchAll(SQL(raw: "EXPLAIN QUERY PLAN \(sql.text)", sql.arguments))
        return steps.map { id, parent, _, detail in
            let depth = depths[parent].map { $0 + 1 } ?? 0
            depths[id] = depth
            return String(repeating: "  ", count: depth) + detail
        }
    }

    /// Returns the number of a query's rows.
    /// - Throws: ``DatabaseError``.
    public func count<Request: SQLRequest>(_ request: Request) throws(DatabaseError) -> Int {
        try fetchOne(Int.self, try request.selection.sql(.count, self)) ?? 0
    }

    /// Returns whether a query has any rows.
    /// - Throws: ``DatabaseError``.
    public func exists<Request: SQLRequest>(_ request: Request) throws(DatabaseError) -> Bool {
        try fetchOne(Bool.self, try request.selection.sql(.existence, self)) ?? false
    }

    /// Deletes the rows of a query, up to its limit if it has one.
    /// ```swift
    /// try db.deleteAll(Note.filter { $0.stars == 0 })     // DELETE FROM "note" WHERE "note"."stars" = ?
    /// ```
    /// - Returns: the number of rows that were deleted.
    /// - Throws: ``DatabaseError``, including ``DatabaseError/Reason/misuse`` for a query with groups.
    @discardableResult
    public func deleteAll<Record: SQLRecord>(_ query: SQLQuery<Record>) throws(DatabaseError) -> Int {
        let clauses = query.selection.clauses
        try changeRows(clauses.change("DELETE FROM \(clauses.sides[0].source)"))
        return changes
    }

    /// Changes columns in all rows of a query, up to its limit if it has one.
    /// ```swift
    /// try db.updateAll(Note.filter { $0.title == "Plan" }) { note, set in
    ///     set(\.stars, to: 5)
    ///     set(\.title, to: SQLExpression("upper(\(note.title))"))
    /// }
    /// // UPDATE "note" SET "stars" = ?, "title" = upper("note"."title") WHERE "note"."title" = ?
    /// ```
    /// - Returns: the number of rows that were changed.
    /// - Throws: ``DatabaseError``, including ``DatabaseError/Reason/misuse`` for a query with groups and for an update without
    ///   assignments.
    @discardableResult
    public func updateAll<Record: SQLRecord>(
        _ query: SQLQuery<Record>, _ changes: (SQLColumns<Record>, inout SQLAssignments<Record>) -> Void
    ) throws(DatabaseError) -> Int {
        try changeRows(query.selection.clauses.update(Record.self, changes))
        return self.changes
    }
}

/// The assignments of an update of several rows.
public struct SQLAssignments<Record: SQLRecord> {
    let table: SQLTable
    private(set) var list: [SQL] = []
    private(set) var failure: DatabaseError?

    /// Sets a column to a value, which is bound.
    public mutating func callAsFunction<Value: SQLValueConvertible>(_ property: KeyPath<Record, Value> & Sendable, to value: Value)
    {
        set(property) { SQLExpression<Value>.bound(value, $0) }
    }

    /// Sets a column to a value that is not a single simple one, stored as JSON as when a record is inserted.
    @_disfavoredOverload
    public mutating func callAsFunction<Value: Encodable>(_ property: KeyPath<Record, Value> & Sendable, to value: Value) {
        let stored = SQLExpression<Value>.stored(value) ?? SQLValue.null
        set(property) { "\(ProfiledValue(stored, $0))" }
    }

    /// Sets a column to an expression. If it is stored in another form than the column, it is converted.
    public mutating func callAsFunction<Value>(_ property: KeyPath<Record, Value> & Sendable, to expression: SQLExpression<Value>) {
        set(property) { expression.converted(to: $0).sql }
    }

    /// Sets a column that may be NULL to an expression.
    public mutating func callAsFunction<Value>(
        _ property: KeyPath<Record, Value?> & Sendable, to expression: SQLExpression<Value>
    ) {
        set(property) { expression.converted(to: $0).sql }
    }

    /// - Parameter value: gets the form in which the column is stored.
    private mutating func set<Value>(_ property: KeyPath<Record, Value> & Sendable, _ value: (ValueProfile?) -> SQL) {
        guard let name = table.columnName(property) else {
            failure = failure ?? PropertyName.refusal(property)
            return
        }
        list.append("\(identifier: name) = \(value(Record.columnProfiles[name]))")
    }
}
