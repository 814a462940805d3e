import SQLCipherKitCore

/// The differences between two databases, each with its own key: a summary, and the SQL or the changeset that turns the first into
/// the second (<https://sqlite.org/sqldiff.html>).
///
/// ```swift
/// let diff = try DatabaseDiff(from: yesterday.main, to: today.main)
/// for table in try diff.summary() where !table.isSame { print(table.name, table.inserted, table.updated, table.deleted) }
/// try diff.apply(to: replica)                  // or: try diff.sql(), try diff.changeset()
/// ```
/// Rows are identified by their row id, or by the primary key in a table `WITHOUT ROWID`. A table whose definition differs is
/// dropped and created again with all its rows. Full-text and other virtual tables are compared by the tables that hold their
/// content. `user_version`, `application_id`, sequences and statistics are compared as well; page size, journal mode and encryption
/// are not. Both databases must have the same text encoding.
///
/// Each call reads both databases again, each in one consistent snapshot.
public struct DatabaseDiff {
    /// The differences in a table.
    public struct Table: Hashable, Sendable {
        /// How the table's definition differs.
        public enum Definition: Hashable, Sendable {
            /// It does not differ.
            case same
            /// Only the second database has the table.
            case added
            /// Only the first database has the table.
            case removed
            /// Both have the table, with different columns or constraints.
            case changed
        }

        /// The table's name.
        public let name: String
        /// How its definition differs.
        public let definition: Definition
        /// The number of rows that only the second database has.
        public let inserted: Int
        /// The number of rows that only the first database has.
        public let deleted: Int
        /// The number of rows that both have, with different values.
        public let updated: Int
        /// The number of rows that are equal in both.
        public let unchanged: Int

        /// Whether neither the definition nor any row differs.
        public var isSame: Bool { definition == .same && inserted == 0 && deleted == 0 && updated == 0 }
    }

    let old: DiffSide
    let new: DiffSide
    /// Whether virtual tables of modules that are not SQLite's own are left out of the comparison and of the SQL, not refused:
    /// ``otherModules()`` names them. The tables that hold their content are compared like any other. Default: false.
    public var leavesOutOtherModules = false

    /// Compares two databases, of one connection or of two.
    /// - Parameters:
    ///   - from: the first database.
    ///   - to: the second database.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/closed``, and ``DatabaseError/Reason/misuse`` if the
    ///   text encodings differ.
    public init(from: Schema, to: Schema) throws(DatabaseError) {
        old = try DiffSide(from)
        new = try DiffSide(to)
        if try old.pragma("encoding") != new.pragma("encoding") {
            throw .misuse("the two databases keep their text in different encodings")
        }
    }

    /// Returns the differences table by table, ordered by name, including the tables that hold the content of virtual tables.
    public func summary() throws(DatabaseError) -> [Table] {
        try DatabaseError.typed {
            try looking { old, new in
                var names = Set(old.tables.keys).union(new.tables.keys)
                if old.has("sqlite_sequence") || new.has("sqlite_sequence") { names.insert(ExactText("sqlite_sequence")) }
                return try names.map(\.text).sorted().map { name in
                    guard let ours = old.object("table", name) else {
                        return try table(name, .added, inserted: self.new.count(name))
                    }
                    guard let new = new.object("table", name) else {
                        return try table(name, .removed, deleted: self.old.count(name))
                    }
                    if ours.sql.isSameText(as: new.sql) { return try compare(name) }
                    return try table(name, .changed, inserted: self.new.count(name), deleted: self.old.count(name))
                }
            }
        }
    }

    /// Whether the databases have the same content and the same schema.
    public func isEmpty() throws(DatabaseError) -> Bool {
        try DatabaseError.typed {
            struct Found: Error {}
            do { try forEachStatement { _ in throw Found() } } catch is Found { return false }
            return true
        }
    }

    /// The virtual tables of either database whose modules are not SQLite's own, ordered by name. Such a module may read anything,
    /// not only the database, and other programs need not have it.
    public func otherModules() throws(DatabaseError) -> [String] {
        try DatabaseError.typed {
            let objects = try old.schema().objects + new.schema().objects
            return Set(objects.filter(\.usesOtherModule).map { ExactText($0.name) }).map(\.text).sorted()
        }
    }

    /// Runs `body` with both schemas, in one snapshot of each database.
    func looking<R>(_ body: (DiffSchema, DiffSchema) throws -> R) throws -> R {
        func schema(_ side: DiffSide) throws -> DiffSchema {
            let schema = try side.schema()
            return leavesOutOtherModules ? DiffSchema(objects: schema.objects.filter { !$0.usesOtherModule }) : schema
        }
        return try old.connection.savepoint { _ in
            try new.connection.savepoint { _ in
                try old.connection.withRoomForRowID {
                    try new.connection.withRoomForRowID { try body(schema(old), schema(new)) }
                }
            }
        }
    }

    private func table(_ name: String, _ definition: Table.Definition, inserted: Int = 0, deleted: Int = 0) -> Table {
        Table(name: name, definition: definition, inserted: inserted, deleted: deleted, updated: 0, unchanged: 0)
    }

    private func compare(_ name: String) throws -> Table {
        let walk = try TableWalk(name, old, new)
        var deleted = 0, updated = 0, unchanged = 0
        try walk.overOld { kind, _, _ in
            switch kind {
            case .missing: deleted += 1
            case .different: updated += 1
            case .same: unchanged += 1
            }
        }
        return Table(
            name: name, definition: .same, inserted: try new.count(name) - updated - unchanged, deleted: deleted, updated: updated,
            unchanged: unchanged)
    }
}
