import SQLCipherKitCore

extension Changeset {
    /// The result of applying a changeset.
    public struct Outcome: Hashable, Sendable {
        /// Why all changes of a table were left out.
        public enum Skip: Hashable, Sendable {
            /// The database has no such table.
            case noTable
            /// The table has fewer columns here than where the changes were recorded.
            case fewerColumns(here: Int, there: Int)
            /// The table has another primary key here.
            case primaryKey
            /// The table is not among the requested tables.
            case notWanted
            /// The table belongs to this package, and must not be changed from outside.
            case reserved
        }

        /// The result for one table.
        public struct Table: Hashable, Sendable {
            /// The table's name in the changeset.
            public let name: String
            /// The number of changes in the changeset.
            public let changes: Int
            /// Why all of them were left out; nil if they were not.
            public let skip: Skip?
            /// The number of changes that overwrote an existing row after a conflict.
            public internal(set) var replaced = 0
            /// The number of changes left out after a conflict, by kind of conflict.
            public internal(set) var omitted: [Conflict.Kind: Int] = [:]

            /// The number of changes made.
            public var applied: Int { skip == nil ? changes - omitted.values.reduce(0, +) : 0 }

            init(name: String, changes: Int, skip: Skip?) { (self.name, self.changes, self.skip) = (name, changes, skip) }
        }

        /// The tables, in the order of the changeset.
        public internal(set) var tables: [Table] = []
        /// How conflicts were resolved, for ``Changeset/rebased(by:)``; nil if there were none.
        public internal(set) var rebase: Rebase?

        /// The result for a table; nil if the changeset has no changes of it.
        public subscript(table: String) -> Table? { tables.first { $0.name.isSameName(as: table) } }

        /// Whether all changes were made. A change that was ignored because ``Changeset/Options/reportsChangesThatAreMade`` is off
        /// counts as made.
        public var isComplete: Bool { tables.allSatisfy { $0.applied == $0.changes } }
    }
}

/// The tables of a changeset, and what a database must have of them for the changes to apply.
struct ChangesetTables {
    struct Form {
        let name: String
        let columns: Int
        let primaryKey: [Int]
        var changes = 0
    }

    private(set) var forms: [Form] = []
    private var places: [SQLName: Int] = [:]

    init(_ changeset: Changeset) throws(DatabaseError) {
        var forms: [Form] = [], places: [SQLName: Int] = [:]
        try DatabaseError.typed {
            try changeset.forEachTable { name, columns, primaryKey in
                let place = places[SQLName(name)] ?? forms.count
                places[SQLName(name)] = place
                if place == forms.count { forms.append(Form(name: name, columns: columns, primaryKey: primaryKey())) }
                forms[place].changes += 1
            }
        }
        (self.forms, self.places) = (forms, places)
    }

    /// Tells which tables SQLite will apply to a database, and which it will skip.
    func outcome(in schema: Schema, wanted: (String) -> Bool) throws(DatabaseError) -> Changeset.Outcome {
        var outcome = Changeset.Outcome()
        for form in forms {
            let skip: Changeset.Outcome.Skip? =
                form.name.isKeptFromSQL ? .reserved : wanted(form.name) ? try self.skip(form, schema) : .notWanted
            outcome.tables.append(Changeset.Outcome.Table(name: form.name, changes: form.changes, skip: skip))
        }
        return outcome
    }

    private func skip(_ form: Form, _ schema: Schema) throws(DatabaseError) -> Changeset.Outcome.Skip? {
        if form.name.isSameName(as: "sqlite_stat1") { return try schema.hasTable(form.name) ? nil : .noTable }
        let columns = try schema.columns(of: form.name).filter { $0.kind == .normal }
        if columns.isEmpty { return .noTable }
        var keys = columns.indices.filter { columns[$0].primaryKeyPosition > 0 }
        var count = columns.count
        // Without a primary key, the row id is the key, and counts as the first column.
        if keys.isEmpty { (keys, count) = ([0], count + 1) }
        if count < form.columns { return .fewerColumns(here: columns.count, there: form.columns) }
        return keys == form.primaryKey ? nil : .primaryKey
    }
}

extension Changeset.Outcome.Skip {
    var inWords: String {
        switch self {
        case .noTable: "the database does not have it"
        case .fewerColumns(let here, let there): "it has \(here) columns here, and \(there) in the changeset"
        case .primaryKey: "it has another primary key"
        case .notWanted, .reserved: "it is not wanted"
        }
    }
}
