extension Connection {
    /// The prepared statements that are kept for the next call with the same SQL.
    public var statementCache: StatementCache { StatementCache(connection: self) }

    /// The cache of a connection's prepared statements. Of a closed connection all its numbers are 0.
    ///
    /// A low share of hits says that SQL is pasted together where values should be bound, or that ``capacity`` is too small.
    public struct StatementCache {
        let connection: Connection

        /// The number of statements in the cache.
        public var count: Int { connection.isUsable ? connection.cache.count : 0 }

        /// How often a statement was found in the cache.
        public var hits: Int { connection.isUsable ? connection.cache.hits : 0 }

        /// How often a statement had to be compiled.
        public var misses: Int { connection.isUsable ? connection.cache.misses : 0 }

        /// The number of statements that the cache may keep; fewer drops those not used for the longest time. See
        /// ``DatabaseConfiguration/statementCacheCapacity``.
        public var capacity: Int {
            get { connection.isUsable ? connection.cache.capacity : 0 }
            nonmutating set { if connection.isUsable { connection.cache.capacity = max(0, newValue) } }
        }

        /// Drops all statements of the cache.
        public func clear() {
            if connection.isUsable { connection.cache.removeAll() }
        }
    }
}
