/// The progress of rewriting, copying, restoring or indexing a database.
public struct DatabaseProgress: Hashable, Sendable {
    /// A closure that receives the progress. To cancel the operation, it throws. It cannot use the connections to the databases
    /// that are rewritten, copied or indexed: their methods throw ``DatabaseError/Reason/misuse`` and have no effect.
    public typealias Handler = (DatabaseProgress) throws -> Void

    /// The finished work: in rows if tables are copied or indexed, in bytes if a replica is restored, otherwise in pages.
    public let completed: Int
    /// The total work, in the same unit. An estimate if the page size changes.
    public let total: Int
    /// The table that is being copied; nil for a whole database and for an index.
    public let table: String?

    /// The finished fraction, from 0 to 1.
    public var fractionCompleted: Double { total == 0 ? 1 : Double(completed) / Double(total) }

    package init(done: Int, total: Int, table: String? = nil) { (self.completed, self.total, self.table) = (done, total, table) }
}
