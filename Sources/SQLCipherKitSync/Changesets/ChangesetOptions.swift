import SQLCipherKitCore

extension Changeset {
    /// The triggers of the database that run while the changes are applied.
    public enum Triggers: Hashable, Sendable {
        /// All triggers run. The changes already contain the rows that triggers wrote when the changes were recorded. So a trigger
        /// that writes to a recorded table writes twice, or causes a conflict.
        case all
        /// Only triggers that keep this package's full-text indexes and tables of vectors in step with their content run. The
        /// triggers of a table of vectors run only if the changes have no row of that table. Your other triggers, including
        /// temporary triggers, do not run: the changes already contain their effect.
        case essentialOnly
        /// The triggers with these names, for example a trigger that writes a log, do not run; others do. They are dropped and
        /// created again in the same transaction.
        case except([String])
    }

    /// The options for applying a changeset.
    public struct Options: Hashable, Sendable {
        /// The triggers that run. Default: ``Triggers/all``.
        public var triggers = Triggers.all
        /// True if foreign key actions run, such as `ON DELETE CASCADE`. The changes already contain the effects that these actions
        /// had when the changes were recorded. Default: true.
        public var runsForeignKeyActions = true
        /// True to treat a change as a conflict if its row already has the values that the change would write, or is already
        /// deleted. A changeset that is applied twice has many such changes. Default: true.
        public var reportsNoOpChanges = true
        /// True if the call throws for a table that the database does not have, or has with fewer columns or another primary key.
        /// Default: false; the changes of the table are left out, and ``Changeset/Outcome`` says so.
        public var requiresAllTables = false

        /// The defaults.
        public init() {}
    }

    /// The resolution of conflicts, table by table.
    /// ```swift
    /// try changes.apply(to: db, policy: Changeset.Policy(.omit, tables: ["note": .replace]))
    /// ```
    public struct Policy {
        /// The resolution of the conflicts of a table.
        public enum Rule {
            /// Undo everything: the call throws.
            case abort
            /// Keep the existing row, and leave out the change.
            case omit
            /// Overwrite the existing row. If no row exists, the change is left out; a change that violates a constraint undoes all
            /// changes.
            case replace
            /// The closure decides.
            case ask((Conflict) throws -> Conflict.Resolution)
        }

        /// The rule for tables that are not in ``tables``.
        public var rule: Rule
        /// The rules for tables, by their names.
        public var tables: [String: Rule]
        /// The rule for foreign keys that refer to no row after all changes: `.omit` accepts them. Default: undo everything.
        public var foreignKeys: Conflict.Resolution

        /// Creates a policy.
        /// - Parameters:
        ///   - rule: the rule for tables that are not in `tables`. Default: undo everything.
        ///   - tables: the rules for tables, by their names. Default: none.
        ///   - foreignKeys: the rule for foreign keys that refer to no row after all changes. Default: undo everything.
        public init(
            _ rule: Rule = .abort, tables: [String: Rule] = [:], foreignKeys: Conflict.Resolution = .abort
        ) {
            (self.rule, self.tables, self.foreignKeys) = (rule, tables, foreignKeys)
        }

        func resolution(of conflict: Conflict) throws -> Conflict.Resolution {
            guard let table = conflict.change?.table else { return foreignKeys }
            switch tables.first(where: { $0.key.isSameName(as: table) })?.value ?? rule {
            case .abort: return .abort
            case .omit: return .omit
            case .replace: return conflict.current != nil ? .replace : conflict.kind == .constraint ? .abort : .omit
            case .ask(let decide): return try decide(conflict)
            }
        }
    }
}
