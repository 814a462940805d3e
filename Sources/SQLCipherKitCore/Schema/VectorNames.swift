/// The names of what belongs to a table of vectors, all of which begin with the table's own. They are here because
/// SQLCipherKitSync, which does not see SQLCipherKitVectors, tells its triggers from those of programs.
package enum VectorNames {
    package static let chunks = "_chunks"
    package static let bits = "_bits"
    package static let free = "_free"
    package static let missing = "_missing"
    package static let settings = "_settings"
    package static let source = "_source"
    package static let inserted = "_inserted"
    package static let updated = "_updated"
    package static let deleted = "_deleted"
    /// The tables, in the order in which they are dropped. That of bits may be missing.
    package static let tables = [settings, missing, free, bits, chunks]
    package static let triggers = [inserted, updated, deleted]
    /// The tables by which a table of vectors is known.
    package static let required = [settings, chunks, missing, free]

    /// The table of vectors that a table or a trigger belongs to, by its name.
    /// - Parameters:
    ///   - suffixes: how the name may end.
    ///   - tables: the names of all tables of the database.
    package static func index(of name: String, endingIn suffixes: [String], among tables: Set<SQLName>) -> String? {
        for suffix in suffixes where name.hasSuffix(suffix) {
            let index = String(name.dropLast(suffix.count))
            if ([""] + required).allSatisfy({ tables.contains(SQLName(index + $0)) }) { return index }
        }
        return nil
    }
}
