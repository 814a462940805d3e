/// What became of the changes of a changeset that was applied.
public struct ChangesetOutcome: Hashable, Sendable {
    /// Why the changes of a table were left out as a whole.
    public enum Skip: Hashable, Sendable {
        /// The database has no such table.
        case noTable
        /// The table has fewer columns here than where the changes were recorded.
        case fewerColumns(here: Int, there: Int)
        /// The table has another primary key.
        case primaryKey
        /// The table is not among those that were asked for.
        case notWanted
        /// The table is the package's own, and not to be changed from outside.
        case reserved
    }

    /// What became of the changes of one table.
    public struct Table: Hashable, Sendable {
        /// The table's name in the changeset.
        public let name: String
        /// How many changes the changeset has.
        public let changes: Int
        /// Why all of them were left out; nil if they were not.
        public let skip: Skip?
        /// How many were made over a row that is there, after a conflict.
        public internal(set) var replaced = 0
        /// How many were left out after a conflict, by its kind.
        public internal(set) var omitted: [ChangesetConflict.Kind: Int] = [:]

        /// How many were made.
        public var applied: Int { skip == nil ? changes - omitted.values.reduce(0, +) : 0 }

        init(name: String, changes: Int, skip: Skip?) { (self.name, self.changes, self.skip) = (name, changes, skip) }
    }

    /// The tables, in the order of the changeset.
    public internal(set) var tables: [Table] = []
    /// How conflicts were solved, for ``Changeset/rebased(by:)``; nil if there was none.
    public internal(set) var rebase: ChangesetRebase?

    /// What became of the changes of a table; nil if there was none of it.
    public subscript(table: String) -> Table? { tables.first { $0.name.isSameName(as: table) } }

    /// Whether all changes were made. One that was ignored, as ``ChangesetOptions/reportsChangesThatAreMade`` is off, counts as
    /// made.
    public var isComplete: Bool { tables.allSatisfy { $0.applied == $0.changes } }
}

/// The tables of a changeset, and what it takes a database to have of them.
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
        do {
            try changeset.forEachTable { name, columns, primaryKey in
                let place = places[SQLName(name)] ?? forms.count
                places[SQLName(name)] = place
                if place == forms.count { forms.append(Form(name: name, columns: columns, primaryKey: primaryKey())) }
                forms[place].changes += 1
            }
        } catch let error as DatabaseError { throw error } catch { throw DatabaseError(thrownBy: "reading a changeset", error) }
        (self.forms, self.places) = (forms, places)
    }

    /// What becomes of the tables in a database, as SQLite will have it.
    func outcome(in schema: Schema, wanted: (String) -> Bool) throws(DatabaseError) -> ChangesetOutcome {
        var outcome = ChangesetOutcome()
        for form in forms {
            let skip: ChangesetOutcome.Skip? =
                form.name.isSlotMark ? .reserved : wanted(form.name) ? try self.skip(form, schema) : .notWanted
            outcome.tables.append(ChangesetOutcome.Table(name: form.name, changes: form.changes, skip: skip))
        }
        return outcome
    }

    private func skip(_ form: Form, _ schema: Schema) throws(DatabaseError) -> ChangesetOutcome.Skip? {
        if form.name.isSameName(as: "sqlite_stat1") { return try schema.hasTable(form.name) ? nil : .noTable }
        let columns = try schema.columns(of: form.name).filter { $0.kind == .normal }
        if columns.isEmpty { return .noTable }
        var keys = columns.indices.filter { columns[$0].primaryKeyPosition > 0 }
        var count = columns.count
        // Without a primary key, the row id takes its place, as the first column.
        if keys.isEmpty { (keys, count) = ([0], count + 1) }
        if count < form.columns { return .fewerColumns(here: columns.count, there: form.columns) }
        return keys == form.primaryKey ? nil : .primaryKey
    }
}

extension ChangesetOutcome.Skip {
    var inWords: String {
        switch self {
        case .noTable: "the database does not have it"
        case .fewerColumns(let here, let there): "it has \(here) columns here, and \(there) in the changeset"
        case .primaryKey: "it has another primary key"
        case .notWanted, .reserved: "it is not wanted"
        }
    }
}
