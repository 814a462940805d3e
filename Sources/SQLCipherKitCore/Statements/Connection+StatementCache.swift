extension Connection.Settings {
    /// The cache of prepared statements, kept for the next call with the same SQL.
    public var statementCache: StatementCache { StatementCache(connection: connection) }

    /// The cache of a connection's prepared statements. For a closed connection all its numbers are 0.
    ///
    /// A low hit rate indicates that SQL text is concatenated with values that should be bound, or that ``capacity`` is too small.
    public struct StatementCache {
        let connection: Connection

        /// The number of statements in the cache.
        public var count: Int { connection.isUsable ? connection.cache.count : 0 }

        /// How often a statement was found in the cache.
        public var hits: Int { connection.isUsable ? connection.cache.hits : 0 }

        /// How often a statement had to be compiled.
        public var misses: Int { connection.isUsable ? connection.cache.misses : 0 }

        /// The maximum number of statements in the cache. Lowering it drops the least recently used ones. See
        /// ``DatabaseConfiguration/statementCacheCapacity``.
        public var capacity: Int {
            get { connection.isUsable ? connection.cache.capacity : 0 }
            nonmutating set { if connection.isUsable { connection.cache.capacity = max(0, newValue) } }
        }

        /// Removes all statements from the cache.
        public func clear() {
            if connection.isUsable { connection.cache.removeAll() }
        }
    }
}
