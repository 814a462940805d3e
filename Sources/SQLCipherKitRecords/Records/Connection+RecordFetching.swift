import SQLCipherKitCore

/// Reading records by their keys, either in the first of the connection's databases that has the table, or in `schema`.
extension Connection {
    /// Returns the record with a primary key, or nil if there is none. Give the values of a key with several columns in the key's
    /// order.
    /// ```swift
    /// let note = try db.fetchOne(Note.self, id: 7)
    /// let enrolment = try db.fetchOne(Enrolment.self, id: student, "algebra")
    /// ```
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has a different number of columns.
    public func fetchOne<Record: SQLRecord, ID: SQLValueConvertible, each Value: SQLValueConvertible>(
        _ type: Record.Type, id value: ID, _ others: repeat each Value, in schema: Schema? = nil
    ) throws -> Record? {
        if !configuration.errorsShowArguments {
            var found: Record?
            if try statements(schema).find(self, value, repeat each others, found: &found) { return found }
        }
        let (table, layout, condition) = try row(type, schema, value, repeat each others)
        let sql: SQL = "SELECT \(raw: layout.selection) FROM \(raw: table.qualifiedName) WHERE \(condition)"
        return try fetchOne(Record.self, sql)
    }

    /// Returns the record with a primary key, which must exist.
    /// - Throws: ``DatabaseError/Reason/recordNotFound`` if there is no such row, and the errors of ``fetchOne(_:id:_:in:)``.
    public func find<Record: SQLRecord, ID: SQLValueConvertible, each Value: SQLValueConvertible>(
        _ type: Record.Type, id value: ID, _ others: repeat each Value, in schema: Schema? = nil
    ) throws -> Record {
        let found = try fetchOne(type, id: value, repeat each others, in: schema)
        guard let found else { throw DatabaseError.noRecord(type) }
        return found
    }

    /// Returns the records with these primary keys, in the order of the keys. Each record is returned once, and keys without a row
    /// are skipped.
    /// ```swift
    /// let notes = try db.fetchAll(Note.self, ids: [3, 1, 2])
    /// ```
    /// The number of keys is not limited. For a primary key of several columns, use ``SQLRowValue/in(_:)`` in a query.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the primary key has several columns, or any error that the record's
    ///   own decoding throws.
    public func fetchAll<Record: SQLRecord, ID: SQLValueConvertible>(
        _ type: Record.Type, ids: some Sequence<ID>, in schema: Schema? = nil
    ) throws -> [Record] {
        let (table, key, list) = try keys(type, ids, schema)
        let side = SQLClauses.Side(table: table, alias: table.name)
        let sql: SQL = """
            SELECT sqlcipherkit_key.n, NULL AS \(identifier: SQLSide.separator), \(side.columns) \
            FROM (SELECT n - 1 AS n, value FROM (\(list.source))) AS sqlcipherkit_key \
            JOIN \(side.source) ON \(identifier: side.alias).\(identifier: key) = sqlcipherkit_key.value
            """
        var found = [Record?](repeating: nil, count: list.count)
        try forEachRow(of: sql) { row in
            let sides = try SQLSide.all(row, 2)
            return { row in found[try row.get(0, as: Int.self)] = try sides[1].read(row, as: Record.self) }
        }
        return list.numbers.compactMap { number in
            guard let number else { return nil }
            // Each record once, even if its key is repeated.
            defer { found[number] = nil }
            return found[number]
        }
    }

    /// Returns whether there is a record with a primary key.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the key has a different number of columns.
    public func exists<Record: SQLRecord, ID: SQLValueConvertible, each Value: SQLValueConvertible>(
        _ type: Record.Type, id value: ID, _ others: repeat each Value, in schema: Schema? = nil
    ) throws -> Bool {
        let (table, _, condition) = try row(type, schema, value, repeat each others)
        return try isThere(table, condition)
    }

    /// The table of a record, the column of its primary key, and these keys.
    func keys<Record: SQLRecord, ID: SQLValueConvertible>(
        _ type: Record.Type, _ ids: some Sequence<ID>, _ schema: Schema?
    ) throws -> (SQLTable, key: String, AssociationKeys) {
        let statements = try statements(schema)
        let table = statements.table(type)
        let key = try statements.layout(type, table, self).key
        guard key.count == 1 else {
            throw DatabaseError.invalidArgument(
                "the primary key of \(table.name) has \(key.count) columns, and each id is one value"
            )
        }
        let profile = Record.columnProfiles[key[0]] ?? profile
        var keys: [AssociationKey?] = []
        for id in ids { keys.append(AssociationKey(try id.sqlValue(in: profile))) }
        return (table, key[0], AssociationKeys(keys))
    }

    /// The table of a record, and the condition that one row with this key meets.
    func row<Record: SQLRecord, each Value: SQLValueConvertible>(
        _ type: Record.Type, _ schema: Schema?, _ values: repeat each Value
    ) throws -> (SQLTable, RecordLayout, SQL) {
        let statements = try statements(schema)
        let table = statements.table(type)
        let layout = try statements.layout(type, table, self)
        var bound: [any SQLValueConvertible] = []
        for value in repeat each values { bound.append(value) }
        guard bound.count == layout.key.count else {
            throw DatabaseError.invalidArgument(
                "the primary key of \(table.name) has \(layout.key.count) columns and got \(bound.count) values"
            )
        }
        let profiles = Record.columnProfiles
        if !profiles.isEmpty {
            bound = zip(layout.key, bound).map { key, value in profiles[key].map { ProfiledValue(value, $0) } ?? value }
        }
        return (table, layout, RecordLayout.condition(layout.key, bound))
    }
}

/// Running query values.
extension Connection {
    /// Returns all rows of a query.
    /// ```swift
    /// let notes = try db.fetchAll(Note.filter { $0.stars > 3 })
    /// for (author, book) in try db.fetchAll(Author.leftJoin(Book.self)) { … }
    /// ```
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a property that is not a column, or a negative limit or offset;
    ///   ``DatabaseError/Reason/misuse`` for a join without a foreign key, or another query that cannot be written as SQL; SQLite's
    ///   error; or any error that the record's own decoding throws.
    public func fetchAll<Request: SQLRequest>(_ request: Request) throws -> [Request.Element] {
        var elements: [Request.Element] = []
        try run(request) { element in
            elements.append(element)
            return true
        }
        return elements
    }

    /// Returns the first row of a query, or nil if there is none.
    /// - Throws: the same errors as `fetchAll`.
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
    /// - Throws: the same errors as `fetchAll`.
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
    /// - Throws: the errors of `fetchAll` for a query that cannot be written as SQL or compiled, and
    ///   ``DatabaseError/Reason/misuse`` for a query with associations. Errors of later rows are thrown by the cursor.
    public func cursor<Request: SQLRequest>(_ request: Request) throws -> RowCursor<Request.Element> {
        let selection = request.selection
        if selection.fetcher != nil { throw DatabaseError.includingCursor }
        var reader: ((borrowing Row) throws -> Request.Element)?
        return RowCursor(try PropertyName.explaining { try openCursor(try selection.sql(.rows, self), []) }) { row in
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
        let statement = try PropertyName.explaining { try cached(sql) }
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        try statement.bindAll(sql.arguments, handle)
        guard try statement.advance(handle) else { return }
        let row = Row(handle, statement.names(handle))
        let reader = try selection.reader(row)
        repeat { guard body(try reader(row)) else { return } } while try statement.advance(handle)
    }

    /// Returns the statement that a query runs, with its values.
    /// - Throws: the errors of `fetchAll` for a query that cannot be written as SQL, such as a join without a foreign key.
    public func sql<Request: SQLRequest>(of request: Request) throws -> SQL {
        try request.selection.sql(.rows, self)
    }

    /// Returns how SQLite runs a query: a line for each step, indented below the step that it is part of
    /// (<https://sqlite.org/eqp.html>).
    /// ```swift
    /// let plan = try db.queryPlan(of: Note.filter { $0.title == "Plan" })
    /// // ["SEARCH note USING INDEX note_title (title=?)"]
    /// ```
    /// - Throws: the errors of ``sql(of:)``, or SQLite's error for a query that does not compile.
    public func queryPlan<Request: SQLRequest>(of request: Request) throws -> [String] {
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
    /// - Throws: the same errors as `fetchAll`.
    public func count<Request: SQLRequest>(_ request: Request) throws -> Int {
        try PropertyName.explaining { try fetchOne(Int.self, try request.selection.sql(.count, self)) } ?? 0
    }

    /// Returns whether a query has any rows.
    /// - Throws: the same errors as `fetchAll`.
    public func exists<Request: SQLRequest>(_ request: Request) throws -> Bool {
        try PropertyName.explaining { try fetchOne(Bool.self, try request.selection.sql(.existence, self)) } ?? false
    }

    /// Returns the different values of a query.
    /// - Throws: the same errors as `fetchAll`.
    public func fetchSet<Request: SQLRequest>(_ request: Request) throws -> Set<Request.Element> where Request.Element: Hashable {
        Set(try fetchAll(request))
    }

    /// Returns the different values that SQL finds.
    /// - Throws: SQLite's error, ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch``.
    public func fetchSet<Value: SQLValueConvertible & Hashable>(
        _ type: Value.Type, _ sql: SQL, _ arguments: StatementArguments = []
    ) throws -> Set<Value> {
        Set(try fetchAll(type, sql, arguments))
    }

    /// Returns whether a SELECT finds a row.
    /// ```swift
    /// let isKnown = try db.exists("SELECT 1 FROM note WHERE title = \(title)")
    /// ```
    /// - Throws: SQLite's error for SQL that is not a SELECT, or that fails; ``DatabaseError/Reason/parameters`` for parameters
    ///   without a value.
    public func exists(_ sql: SQL) throws -> Bool { try fetchOne(Bool.self, "SELECT EXISTS (\(sql))") ?? false }
}

/// The calls for all queries, compiled into the caller for queries of whole records.
extension Connection {
    /// Returns all rows of a query.
    /// - Throws: the same errors as for any other query.
    @inlinable
    @_documentation(visibility: private)
    public func fetchAll<Record: SQLRecord>(_ query: SQLQuery<Record>) throws -> [Record] {
        guard let (statement, arguments) = try prepared(query, isFirst: false) else { return try fetchAll(query.selection) }
        return try statement.fetchAll(Record.self, arguments)
    }

    /// Returns the first row of a query, or nil if there is none.
    /// - Throws: the same errors as for any other query.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<Record: SQLRecord>(_ query: SQLQuery<Record>) throws -> Record? {
        guard let (statement, arguments) = try prepared(query, isFirst: true) else { return try fetchOne(query.selection) }
        return try statement.fetchOne(Record.self, arguments)
    }

    /// The statement of a query and its values; nil for a query that does not simply read whole records.
    @usableFromInline
    func prepared<Record: SQLRecord>(
        _ query: SQLQuery<Record>, isFirst: Bool
    ) throws -> (Statement, StatementArguments)? {
        guard var clauses = query.plainClauses else { return nil }
        if let ready = try clauses.plainStatement(self, isFirst: isFirst) { return ready }
        clauses.isFirst = isFirst
        let sql = try SQLSelection<Record>(clauses, reader: { _ in { row in try Record(row: row) } }).sql(.rows, self)
        return (try PropertyName.explaining { try cached(sql) }, sql.arguments)
    }
}
