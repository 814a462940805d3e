/// What is told of the commits of a queue's or a pool's writer. Called on the writer's thread, in order.
protocol CommitObserver: AnyObject, Sendable {
    /// The columns of a table that matter to it, as bits; asked at a transaction's first change of the table.
    func interest(in table: DatabaseTable) -> UInt64
    func notify(_ changes: DatabaseChanges)
    /// No more commits will be reported.
    func fail(_ error: any Error)
    /// The columns may be others now, under the same names.
    func schemaChanged(_ db: OpaquePointer)
}

extension CommitObserver {
    func schemaChanged(_ db: OpaquePointer) {}
}
