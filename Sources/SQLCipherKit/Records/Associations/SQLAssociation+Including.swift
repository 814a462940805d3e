/// What belongs to the other records, one level further.
/// ```swift
/// let query = Folder.including(Folder.notes.order { $0.date }.including(Note.tags))
/// for (folder, notes) in try db.fetchAll(query) {
///     for (note, tags) in notes { … }
/// }
/// ```
/// Filters, orders and limits can be added before and after. Each association is one more statement.
extension SQLAssociation where Value == [Target] {
    /// Fetches an association with each of the records.
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Target, A, X>) -> SQLAssociation<Base, Target, [(Target, X)]> {
        each(.one(a))
    }

    /// Fetches two associations with each of the records.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>
    ) -> SQLAssociation<Base, Target, [(Target, X, Y)]> {
        each(.two(a, b))
    }

    /// Fetches three associations with each of the records.
    public func including<A: SQLRecord, X, B: SQLRecord, Y, C: SQLRecord, Z>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>, _ c: SQLAssociation<Target, C, Z>
    ) -> SQLAssociation<Base, Target, [(Target, X, Y, Z)]> {
        each(.three(a, b, c))
    }

    private func each<Row>(_ reading: AssociationReading<Target, Row>) -> SQLAssociation<Base, Target, [Row]> {
        SQLAssociation<Base, Target, [Row]>(path, query) { rows, keys, db in try rows.fetch(reading, keys, db) }
    }
}

/// The same for an association with one record.
extension SQLAssociation where Value == Target? {
    /// Fetches an association with the record.
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Target, A, X>) -> SQLAssociation<Base, Target, (Target, X)?> {
        first(.one(a))
    }

    /// Fetches two associations with the record.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>
    ) -> SQLAssociation<Base, Target, (Target, X, Y)?> {
        first(.two(a, b))
    }

    private func first<Row>(_ reading: AssociationReading<Target, Row>) -> SQLAssociation<Base, Target, Row?> {
        SQLAssociation<Base, Target, Row?>(path, query) { rows, keys, db in try rows.fetch(reading, keys, db).map(\.first) }
    }
}
