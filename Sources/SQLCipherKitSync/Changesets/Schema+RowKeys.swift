import SQLCipherKitCore

extension Schema {
    /// Throws if a table's keys have no canonical form.
    /// - Parameters:
    ///   - tables: the tables; nil for all.
    ///   - what: the feature that needs the form, for the message.
    func requireCanonicalKeys(_ tables: [String]?, for what: String) throws {
        for key in try keys(tables) { try key.requireCanonical(for: what) }
    }

    /// Throws if a row of a table has NULL in its key.
    func requireKeys(_ tables: [String]?, for what: String) throws {
        for key in try keys(tables) { try key.requireValues(in: self, for: what) }
    }

    private func keys(_ tables: [String]?) throws -> [RowKey] {
        var keys: [RowKey] = [], names = tables ?? []
        if tables == nil { names = try objects(.table) }
        for name in names { if let key = try RowKey(of: name, in: self) { keys.append(key) } }
        return keys
    }
}
