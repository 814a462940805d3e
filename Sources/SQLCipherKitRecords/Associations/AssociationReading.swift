import SQLCipherKitCore

/// Makes rows with associations from the rows of a statement.
struct AssociationReading<Base, Row>: Sendable {
    /// For each association, the columns of the base's table that identify the associated records.
    let columns: @Sendable (SQLTable, Connection) throws -> [NearKeys]
    /// Makes the rows from the bases and, for each association, the keys of all bases.
    let rows: @Sendable ([Base], [NearKeys], Connection, SQLTable) throws -> [Row]
}

extension AssociationReading where Base == Row {
    /// Only the record itself.
    static var plain: Self { Self(columns: { _, _ in [] }, rows: { bases, _, _, _ in bases }) }
}

extension AssociationReading {
    /// Returns the rows, each paired with the value of another association.
    private func and<Record: SQLRecord, Target: SQLRecord, Value>(
        _ association: SQLAssociation<Record, Target, Value>
    ) -> AssociationReading<Base, (Row, Value)> {
        let (columns, rows) = (columns, rows)
        return AssociationReading<Base, (Row, Value)>(
            columns: { table, db in
                try columns(table, db) + [NearKeys(AssociatedRows(association.path, association.query, table).nearColumns(db))]
            },
            rows: { bases, keys, db, table in
                let first = try rows(bases, keys.dropLast(), db, table)
                let associated = AssociatedRows(association.path, association.query, table)
                return Array(zip(first, try association.load(associated, keys[keys.count - 1], db)))
            })
    }

    private func map<New>(_ transform: @escaping @Sendable (Row) -> New) -> AssociationReading<Base, New> {
        let rows = rows
        return AssociationReading<Base, New>(
            columns: columns, rows: { bases, keys, db, table in try rows(bases, keys, db, table).map(transform) })
    }

    private static var start: AssociationReading<Base, Base> { .plain }

    // There is a function for each number, because Swift 6.3 does not type-check the elements of a tuple that a parameter pack
    // makes in the same expression.

    static func one<Record: SQLRecord, A: SQLRecord, X>(_ a: SQLAssociation<Record, A, X>) -> Self where Row == (Base, X) {
        start.and(a)
    }

    static func two<Record: SQLRecord, A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Record, A, X>, _ b: SQLAssociation<Record, B, Y>
    ) -> Self where Row == (Base, X, Y) {
        start.and(a).and(b).map { ($0.0.0, $0.0.1, $0.1) }
    }

    static func three<Record: SQLRecord, A: SQLRecord, X, B: SQLRecord, Y, C: SQLRecord, Z>(
        _ a: SQLAssociation<Record, A, X>, _ b: SQLAssociation<Record, B, Y>, _ c: SQLAssociation<Record, C, Z>
    ) -> Self where Row == (Base, X, Y, Z) {
        start.and(a).and(b).and(c).map { ($0.0.0.0, $0.0.0.1, $0.0.1, $0.1) }
    }

    static func four<Record: SQLRecord, A: SQLRecord, W, B: SQLRecord, X, C: SQLRecord, Y, D: SQLRecord, Z>(
        _ a: SQLAssociation<Record, A, W>, _ b: SQLAssociation<Record, B, X>, _ c: SQLAssociation<Record, C, Y>,
        _ d: SQLAssociation<Record, D, Z>
    ) -> Self where Row == (Base, W, X, Y, Z) {
        start.and(a).and(b).and(c).and(d).map { ($0.0.0.0.0, $0.0.0.0.1, $0.0.0.1, $0.0.1, $0.1) }
    }
}
