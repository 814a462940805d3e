import SQLCipherKitCore

/// Common table expressions (<https://sqlite.org/lang_with.html>).
extension SQLQueryable {
    /// Makes a query the table of a record, within this query: it can be joined, and be asked by the queries in the closures.
    /// ```swift
    /// struct Total: SQLRecord {
    ///     var artist: Int64
    ///     var tracks: Int
    /// }
    /// let totals = Album.filter { $0.artist != nil }.group { $0.artist }.select { ($0.artist, $0.tracks.sum() ?? 0) }
    /// let long = Artist.with(Total.self, as: totals).join(Total.self) { $0.id == $1.artist && $1.tracks > 20 }
    /// ```
    /// The query's values are the record's columns, in order. A query for records gives the columns by their names. A `union` or
    /// `unionAll` whose second part reads the same record is a recursion, which ends when it finds no further row:
    /// ```swift
    /// struct Level: SQLRecord {
    ///     var folder: Int64
    ///     var depth: Int
    /// }
    /// let levels = Folder.filter { $0.parent == nil }.select { ($0.id, SQLExpression<Int>("0")) }
    ///     .unionAll(Folder.join(Level.self) { $0.parent == $1.folder }.select { ($0.id, $1.depth + 1) })
    /// let deep = Level.with(Level.self, as: levels).filter { $0.depth > 3 }
    /// ```
    /// Call it before the closures that read the record. Within the query, it hides a table of the same name. Values stored in
    /// another form than the record's columns are converted, which a recursion cannot do: SQLite refuses it then.
    public func with<Row: SQLRecord>(_ type: Row.Type, as query: some SQLRequest) -> Self {
        var copy = self
        do throws(DatabaseError) {
            copy.selection.clauses.common.append(try query.selection.common(Row.self, of: query))
        } catch {
            copy.selection.clauses.failure = copy.selection.clauses.failure ?? error
        }
        return copy
    }

    /// Makes the rows of your own SQL the table of a record, within this query. They give the record's columns by their names.
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
    ) throws(DatabaseError) -> SQL {
        if let failure = clauses.failure { throw failure }
        if fetcher != nil { throw .misuse("a query with associations cannot be the table \(Row.tableName)") }
        let table = Row.source, profiles = Row.columnProfiles
        let name: SQL = "\(identifier: table.name)"
        guard list != nil else {
            let own = (Request.Element.self as? any ColumnProfiled.Type)?.columnProfiles
            guard let own, clauses.sides.count == 1 else { throw .misuse("a join as the table \(table.name): select values first") }
            if own != profiles {
                throw .misuse("\(Request.Element.self) stores values otherwise than \(Row.self): select values first")
            }
            return "\(name) AS (\(whole))"
        }
        let names = table.positions?.names ?? table.plain?.names.columns ?? table.columns.map(\.name)
        let forms = forms ?? []
        if names.count != forms.count {
            throw .misuse("the table \(table.name) has \(names.count) columns, and its query \(forms.count) values")
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
