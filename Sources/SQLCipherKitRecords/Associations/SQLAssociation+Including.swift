/// Associations of the associated records, one level further.
/// ```swift
/// let query = Folder.including(Folder.notes.order { $0.date }.including(Note.tags))
/// for (folder, notes) in try db.fetchAll(query) {
///     for (note, tags) in notes { … }
/// }
/// ```
/// Filters, orders and limits can be added before and after `including`. Each association is one more statement.
extension SQLAssociation where Value == [Target] {
    /// Fetches each associated record with an association of its own.
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Target, A, X>) -> SQLAssociation<Base, Target, [(Target, X)]> {
        each(.one(a))
    }

    /// Fetches each associated record with two associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>
    ) -> SQLAssociation<Base, Target, [(Target, X, Y)]> {
        each(.two(a, b))
    }

    /// Fetches each associated record with three associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y, C: SQLRecord, Z>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>, _ c: SQLAssociation<Target, C, Z>
    ) -> SQLAssociation<Base, Target, [(Target, X, Y, Z)]> {
        each(.three(a, b, c))
    }

    private func each<Row>(_ reading: AssociationReading<Target, Row>) -> SQLAssociation<Base, Target, [Row]> {
        SQLAssociation<Base, Target, [Row]>(path, query) { rows, keys, db in try rows.fetch(reading, keys, db) }
    }
}

/// Associations of the one associated record.
extension SQLAssociation where Value == Target? {
    /// Fetches the associated record with an association of its own.
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Target, A, X>) -> SQLAssociation<Base, Target, (Target, X)?> {
        first(.one(a))
    }

    /// Fetches the associated record with two associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>
    ) -> SQLAssociation<Base, Target, (Target, X, Y)?> {
        first(.two(a, b))
    }

    private func first<Row>(_ reading: AssociationReading<Target, Row>) -> SQLAssociation<Base, Target, Row?> {
        SQLAssociation<Base, Target, Row?>(path, query) { rows, keys, db in try rows.fetch(reading, keys, db).map(\.first) }
    }
}
