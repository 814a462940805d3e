import SQLCipherKitCore

/// A query for records with their associated records, from ``SQLQuery/including(_:)``. Each element is a tuple of the record and
/// the value of each association.
///
/// Each association is one more statement for all records of the query, and all statements read one snapshot. Conditions, an order
/// and a limit apply to the records themselves. ``Connection/sql(of:)`` returns the first statement. A cursor cannot read such a
/// query, and throws ``DatabaseError/Reason/misuse``.
public struct SQLIncludingQuery<Record: SQLRecord, Element>: SQLQueryable {
    public var selection: SQLSelection<Element>

    init<Base>(_ base: SQLSelection<Base>, _ reading: AssociationReading<Base, Element>) {
        selection = SQLSelection(base, reading)
    }

    public var columns: SQLColumns<Record> { selection.clauses.columns(0) }
}

extension SQLQuery {
    /// Fetches each record with an association.
    /// ```swift
    /// let query = Folder.filter { $0.parent == nil }.including(Folder.notes.order { $0.date })
    /// for (folder, notes) in try db.fetchAll(query) { … }
    /// ```
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Record, A, X>) -> SQLIncludingQuery<Record, (Record, X)> {
        SQLIncludingQuery(selection, .one(a))
    }

    /// Fetches each record with two associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Record, A, X>, _ b: SQLAssociation<Record, B, Y>
    ) -> SQLIncludingQuery<Record, (Record, X, Y)> {
        SQLIncludingQuery(selection, .two(a, b))
    }

    /// Fetches each record with three associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y, C: SQLRecord, Z>(
        _ a: SQLAssociation<Record, A, X>, _ b: SQLAssociation<Record, B, Y>, _ c: SQLAssociation<Record, C, Z>
    ) -> SQLIncludingQuery<Record, (Record, X, Y, Z)> {
        SQLIncludingQuery(selection, .three(a, b, c))
    }

    /// Fetches each record with four associations.
    public func including<A: SQLRecord, W, B: SQLRecord, X, C: SQLRecord, Y, D: SQLRecord, Z>(
        _ a: SQLAssociation<Record, A, W>, _ b: SQLAssociation<Record, B, X>, _ c: SQLAssociation<Record, C, Y>,
        _ d: SQLAssociation<Record, D, Z>
    ) -> SQLIncludingQuery<Record, (Record, W, X, Y, Z)> {
        SQLIncludingQuery(selection, .four(a, b, c, d))
    }
}

extension SQLRecord {
    /// All records, each with an association; see ``SQLQuery/including(_:)``.
    public static func including<A: SQLRecord, X>(_ a: SQLAssociation<Self, A, X>) -> SQLIncludingQuery<Self, (Self, X)> {
        all.including(a)
    }

    /// All records, each with two associations.
    public static func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Self, A, X>, _ b: SQLAssociation<Self, B, Y>
    ) -> SQLIncludingQuery<Self, (Self, X, Y)> {
        all.including(a, b)
    }
}

extension SQLSelection {
    /// The rows of another selection, with associations.
    init<Base>(_ base: SQLSelection<Base>, _ reading: AssociationReading<Base, Element>) {
        self.init(base.clauses, base.list, reader: { _ in { _ in throw DatabaseError.includingCursor } })
        fetcher = { clauses, db in
            var base = base
            base.clauses = clauses
            if db.isInTransaction { return try base.fetch(reading, db) }
            return try db.transaction(.deferred) { db in try base.fetch(reading, db) }
        }
    }

    private func fetch<Row>(_ reading: AssociationReading<Element, Row>, _ db: Connection) throws -> [Row] {
        let side = clauses.sides[0]
        var keys = try reading.columns(side.table, db)
        var elements: [Element] = []
        let list: SQL = """
            \(list ?? clauses.records), NULL AS \(identifier: SQLSide.separator), \
            \(list: keys.flatMap(\.columns).map { "\(identifier: side.alias).\(identifier: $0)" })
            """
        try db.forEachRow(of: try clauses.request(.rows, list, db)) { row in
            let (first, last) = try SQLSide.divided(row)
            let read = try first.withRow(row, reader)
            return { row in
                elements.append(try first.withRow(row, read))
                try last.appendKeys(row, to: &keys)
            }
        }
        return try reading.rows(elements, keys, db, side.table)
    }
}

extension DatabaseError {
    static var includingCursor: DatabaseError {
        .misuse("a query with associations is read as a whole, by fetchAll or fetchOne, and has no cursor")
    }
}
