import SQLCipherKitCore

extension DatabaseTable {
    /// A table of a database of a queue or a pool.
    public init(_ name: String, in schema: SharedSchema) { self.init(name, schemaName: schema.name) }
}

extension SharedDatabase {
    /// Observes the results of a read, now and after each commit that touches a region.
    ///
    /// Like ``observe(_:)``, but the closure's reads are not recorded, and commits outside the region cause no new element. That
    /// saves compiling its statements again at each read. Use it for closures that always read the same tables and columns.
    /// ```swift
    /// let counts = pool.observe(tracking: DatabaseRegion(Note.self)) { db in try db.count(Note.all) }
    /// ```
    /// - Parameters:
    ///   - region: the region that a commit must touch. Combine several with ``DatabaseRegion/union(_:)``. A schema change always
    ///     causes an element. If the region contains a view, the loop throws ``DatabaseError/Reason/invalidArgument``.
    ///   - fetch: reads the result, as in `read(_:)`. Called again for each element.
    public func observe<T: Sendable>(
        tracking region: DatabaseRegion, _ fetch: @escaping @Sendable (Connection) throws -> T
    ) -> DatabaseObservation<T> {
        DatabaseObservation(ObservationSource(database: self, fetch: fetch, region: region))
    }
}
