import CSQLCipher

/// What untrusted SQL may do: read, and only what it is allowed to.
/// ```swift
/// var access = SQLAccess.readOnly
/// access.tables = ["note": .columns(["id", "title"]), "tag": .all]
/// access.functions = ["count", "max", "upper"]
/// let rows = try db.withAccess(access) { db in
///     try db.fetchAll(RowCopy.self, SQL(raw: textOfAStranger))
/// }
/// ```
/// It decides what may be named, not what may be spent: for SQL that never ends set a progress handler, for results that are too
/// large set limits (``Connection/Settings/setLimit(_:to:)``), and for an untrusted file see ``ConnectionOption``.
public struct SQLAccess: Sendable {
    /// The columns of a table that may be read.
    public enum Columns: Hashable, Sendable {
        case all
        /// These, in any spelling of ASCII case. A row id counts as a column of the name that the SQL uses, or of the column that
        /// is its alias.
        case columns(Set<String>)
    }

    /// The tables and views that may be read; nil for all, those of SQLite's own with the schema in them included. A view needs
    /// the tables behind it to be listed too, and a full-text table with external content that table; the tables in which a
    /// virtual table keeps its data are allowed with it.
    public var tables: [String: Columns]?
    /// The functions that may be called, `->`, `->>`, `LIKE`, `GLOB`, `REGEXP` and `MATCH` among them under these names in lower
    /// case; nil for all. Names are compared without regard to ASCII case.
    public var functions: Set<String>?
    /// Whether a column that may not be read is NULL instead of an error. Default: an error.
    public var hidesColumns = false

    /// Any query, and nothing that writes, attaches, changes settings or transactions.
    public static let readOnly = SQLAccess()

    private init() {}
}

extension Connection {
    /// Restricts what statements may do from now on, or lifts the restriction; an authorizer that was set is replaced.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside of a hook.
    public func setAccess(_ access: SQLAccess?) throws(DatabaseError) {
        guard let access else {
            try setAuthorizer(nil)
            return
        }
        let before = hooks?.authorizer
        // A restriction that is there already may forbid to look the tables up.
        try setAuthorizer(nil)
        let policy: AccessPolicy
        do throws(DatabaseError) {
            policy = AccessPolicy(access, shadowTables: access.tables == nil ? [] : try shadowTables())
        } catch {
            try? setAuthorizer(before)
            throw error
        }
        try setAuthorizer { policy.decide($0) }
    }

    /// Runs `body` with what statements may do restricted, and goes back to the authorizer that was there before.
    /// - Throws: what `body` throws, ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside of a hook.
    @discardableResult
    public func withAccess<R>(_ access: SQLAccess, _ body: (Connection) throws -> R) throws -> R {
        let before = hooks?.authorizer
        try setAccess(access)
        defer { try? setAuthorizer(before) }
        return try body(self)
    }

    /// The tables that virtual tables of any database keep their data in.
    private func shadowTables() throws(DatabaseError) -> Set<String> {
        var names: Set<String> = []
        for schema in try schemas() { names.formUnion(try schema.shadowTables().map { $0.lowercased() }) }
        return names
    }
}

private struct AccessPolicy {
    private let tables: [String: Set<String>?]?
    private let functions: Set<String>?
    private let hidesColumns: Bool
    private let shadowTables: Set<String>

    init(_ access: SQLAccess, shadowTables: Set<String>) {
        tables = access.tables.map { tables in
            Dictionary(
                tables.map { name, columns in
                    if case .columns(let names) = columns { (name.lowercased(), Set(names.map { $0.lowercased() })) } else {
                        (name.lowercased(), nil)
                    }
                }, uniquingKeysWith: { first, _ in first })
        }
        functions = access.functions.map { Set($0.map { $0.lowercased() }) }
        hidesColumns = access.hidesColumns
        self.shadowTables = shadowTables
    }

    func decide(_ request: AuthorizationRequest) -> AuthorizationDecision {
        switch request.action {
        case .select, .recursive: .allow
        case .read: decideRead((request.first ?? "").lowercased(), (request.second ?? "").lowercased())
        case .function: functions?.contains((request.second ?? "").lowercased()) ?? true ? .allow : .deny
        // What FTS5 asks for itself while it answers a query; it tells no more than that something was written.
        case .pragma: request.first?.lowercased() == "data_version" ? .allow : .deny
        default: .deny
        }
    }

    private func decideRead(_ table: String, _ column: String) -> AuthorizationDecision {
        guard let tables else { return .allow }
        if let columns = tables[table] {
            // Without a column it is rows that are counted.
            guard let columns, !column.isEmpty, !columns.contains(column) else { return .allow }
            return hidesColumns ? .ignore : .deny
        }
        // note_fts_data belongs to note_fts.
        guard shadowTables.contains(table), let end = table.lastIndex(of: "_") else { return .deny }
        return tables.keys.contains(String(table[..<end])) ? .allow : .deny
    }
}
