import SQLCipherKit

extension Notebook {
    /// Makes two copies equal. Each gets what the other one has and it lacks; over a network, the positions and messages travel
    /// as data.
    /// - Returns: the number of changes that were received here and there.
    @discardableResult
    public func synchronize(with other: Notebook) throws -> (here: Int, there: Int) {
        let there = try other.receive(from: self)
        return (here: try receive(from: other), there: there)
    }

    private func receive(from other: Notebook) throws -> Int {
        let position = try pool.write { db in try log(db).position }
        let message = try other.pool.write { db in try other.log(db).changes(since: position).data }
        return try pool.barrier { db in
            try log(db).receive(ChangeMessage(data: message)).tables.reduce(0) { $0 + $1.applied }
        }
    }
}
