extension Schema {
    /// Drops a table with its indexes and triggers. Rows that refer to its rows are treated as if those were deleted
    /// (<https://sqlite.org/lang_droptable.html>).
    /// - Throws: ``DatabaseError``, also for a table that does not exist, unless `ifExists` is true.
    public func dropTable(_ table: String, ifExists: Bool = false) throws(DatabaseError) { try drop("TABLE", table, ifExists) }

    /// Drops an index. Throws the same errors as ``dropTable(_:ifExists:)``.
    public func dropIndex(_ index: String, ifExists: Bool = false) throws(DatabaseError) { try drop("INDEX", index, ifExists) }

    /// Drops a trigger. Throws the same errors as ``dropTable(_:ifExists:)``.
    public func dropTrigger(_ trigger: String, ifExists: Bool = false) throws(DatabaseError) {
        try drop("TRIGGER", trigger, ifExists)
    }

    /// Drops a view. Throws the same errors as ``dropTable(_:ifExists:)``.
    public func dropView(_ view: String, ifExists: Bool = false) throws(DatabaseError) { try drop("VIEW", view, ifExists) }

    private func drop(_ kind: String, _ object: String, _ ifExists: Bool) throws(DatabaseError) {
        try live()
        try connection.execute("DROP \(raw: kind)\(raw: ifExists ? " IF EXISTS" : "") \(raw: qualified(object))")
    }
}
