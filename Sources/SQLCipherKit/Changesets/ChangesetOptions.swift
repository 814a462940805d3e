/// How a changeset is applied.
public struct ChangesetOptions: Hashable, Sendable {
    /// What happens to the triggers of the database meanwhile.
    public enum Triggers: Hashable, Sendable {
        /// They run. What a trigger has done where the changes were recorded is among the changes as well, so one that writes to a
        /// recorded table does it twice, or makes a conflict.
        case run
        /// None runs, but temporary ones: the changes have what they did. A full-text index that triggers keep does not get the
        /// rows then.
        case quiet
        /// Those of these names do not run, as a trigger that writes a log; others do. They are dropped and made again, in the same
        /// transaction.
        case without([String])
    }

    /// What happens to triggers. Default: they run.
    public var triggers = Triggers.run
    /// Whether the actions of foreign keys run, `ON DELETE CASCADE` for instance. What they did where the changes were recorded is
    /// among the changes as well. Default: they do.
    public var runsForeignKeyActions = true
    /// Whether a change that finds its row as it would leave it is a conflict, as a changeset that is applied again makes many.
    /// Default: it is.
    public var reportsChangesThatAreMade = true
    /// Whether a table that the database lacks, or has with fewer columns or another primary key, makes the call throw. Default:
    /// its changes are left out, and ``ChangesetOutcome`` says so.
    public var requiresAllTables = false

    /// The defaults.
    public init() {}
}

/// What is done about conflicts, table by table.
/// ```swift
/// try changes.apply(to: db, policy: ChangesetPolicy(.omit, tables: ["note": .replace]))
/// ```
public struct ChangesetPolicy {
    /// What is done about the conflicts of a table.
    public enum Rule {
        /// Undo everything: the call throws.
        case abort
        /// What is there stays, and the change is left out.
        case omit
        /// The change is made over the row that is there. One without such a row is left out, and one that breaks a constraint
        /// undoes everything.
        case replace
        /// The closure decides.
        case ask((ChangesetConflict) throws -> ChangesetConflict.Resolution)
    }

    /// For tables that are not named.
    public var rule: Rule
    /// For tables by their names.
    public var tables: [String: Rule]
    /// For foreign keys that point nowhere after all changes: `.omit` lets them. Default: undo everything.
    public var foreignKeys: ChangesetConflict.Resolution

    /// A policy.
    public init(
        _ rule: Rule = .abort, tables: [String: Rule] = [:], foreignKeys: ChangesetConflict.Resolution = .abort
    ) {
        (self.rule, self.tables, self.foreignKeys) = (rule, tables, foreignKeys)
    }

    func resolution(of conflict: ChangesetConflict) throws -> ChangesetConflict.Resolution {
        guard let table = conflict.change?.table else { return foreignKeys }
        switch tables.first(where: { $0.key.isSameName(as: table) })?.value ?? rule {
        case .abort: return .abort
        case .omit: return .omit
        case .replace: return conflict.current != nil ? .replace : conflict.kind == .constraint ? .abort : .omit
        case .ask(let decide): return try decide(conflict)
        }
    }
}
