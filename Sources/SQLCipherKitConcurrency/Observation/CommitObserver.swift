import SQLCipherKitCore

/// Is notified of the commits of a queue's or a pool's writer, on the writer's thread and in order.
protocol CommitObserver: AnyObject, Sendable {
    /// The columns of a table that matter to the observer, as bits. Called at a transaction's first change of the table.
    func interest(in table: DatabaseTable) -> UInt64
    func notify(_ changes: DatabaseChanges)
    /// Called when no more commits will be reported.
    func fail(_ error: any Error)
    /// Called when the schema has changed: the same names may now belong to other columns.
    func schemaChanged(_ db: OpaquePointer)
}

extension CommitObserver {
    func schemaChanged(_ db: OpaquePointer) {}
}
