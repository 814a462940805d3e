import CSQLCipher

/// An action of a statement that the authorizer is asked about while the statement is compiled
/// (<https://sqlite.org/c3ref/c_alter_table.html>).
public struct AuthorizationRequest: Hashable, Sendable {
    /// The kinds of actions of statements.
    public struct Action: Hashable, Sendable, CustomStringConvertible {
        /// The action's name, the same as in Swift.
        public let description: String
        private init(_ name: String) { description = name }

        /// The statement is a query. No names.
        public static let select = Action("select")
        /// Reads `second`, a column of the table `first`; the column name is empty if rows are only counted.
        public static let read = Action("read")
        /// Inserts into the table `first`.
        public static let insert = Action("insert")
        /// Updates `second`, a column of the table `first`.
        public static let update = Action("update")
        /// Deletes from the table `first`.
        public static let delete = Action("delete")
        /// Calls the function `second`.
        public static let function = Action("function")
        /// A recursive common table expression.
        public static let recursive = Action("recursive")
        /// Runs the pragma `first`, with the argument `second` if it has one.
        public static let pragma = Action("pragma")
        /// `BEGIN`, `COMMIT` or `ROLLBACK`, in `first`.
        public static let transaction = Action("transaction")
        /// `BEGIN`, `RELEASE` or `ROLLBACK` in `first`, of the savepoint `second`.
        public static let savepoint = Action("savepoint")
        /// Attaches the file `first`, if its name is a literal.
        public static let attach = Action("attach")
        /// Detaches the database `first`.
        public static let detach = Action("detach")
        /// Creates a table, index, view, trigger or virtual table, named `first`; `code` says which.
        public static let create = Action("create")
        /// Drops a table, index, view, trigger or virtual table, named `first`; `code` says which.
        public static let drop = Action("drop")
        /// Alters the table `second` in the database `first`.
        public static let alter = Action("alter")
        /// Rebuilds the index `first`.
        public static let reindex = Action("reindex")
        /// Analyzes the table `first`.
        public static let analyze = Action("analyze")
        /// An action that this version of the package has no name for; see `code`.
        public static let other = Action("other")
    }

    /// The action.
    public let action: Action
    /// SQLite's number for the action, such as `SQLITE_CREATE_TRIGGER` (7).
    public let code: Int
    /// The first name; see ``Action``.
    public let first: String?
    /// The second name; see ``Action``.
    public let second: String?
    /// The database's name: `main`, `temp` or the name that it was attached under.
    public let schema: String?
    /// The innermost trigger or view that performs the action, if any. Untrusted SQL can make a common table expression look like a
    /// view.
    public let origin: String?
}

/// The answer to an ``AuthorizationRequest``.
public enum AuthorizationDecision: Hashable, Sendable {
    /// The action is allowed.
    case allow
    /// The statement does not compile, and throws with the code ``ResultCode/authorization``.
    case deny
    /// The statement compiles without the action: a column reads as NULL, and any other action is omitted.
    case ignore
}

extension Connection.Settings {
    /// Calls `body` for every action of a statement while the statement is compiled
    /// (<https://sqlite.org/c3ref/set_authorizer.html>). There is one authorizer; setting another, or an ``SQLPermissions``,
    /// replaces it.
    /// ```swift
    /// try db.settings.setAuthorizer { request in request.action == .attach ? .deny : .allow }
    /// ```
    /// Statements that were compiled earlier are compiled again when they run next, and `body` is called then.
    /// - Parameter body: must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` while `body` runs. Nil
    ///   removes the authorizer.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    public func setAuthorizer(_ body: ((AuthorizationRequest) -> AuthorizationDecision)?) throws {
        let before = try connection.usableHooks().hooks.gate
        connection.untilReturn(.authorizer) { db in try db.setGate(before) }
        try connection.setGate(body.map { .authorizer($0) } ?? .open)
    }
}

extension Connection {
    func setGate(_ gate: ConnectionHooks.Gate) throws {
        let (hooks, handle) = try usableHooks()
        hooks.gate = gate
        hooks.installAuthorizer(handle)
    }
}

extension ConnectionHooks {
    /// Update hooks need an authorizer too: it turns off the shortcut for a DELETE without WHERE. Statements that were compiled
    /// earlier are compiled again, even if the authorizer is removed.
    package func installAuthorizer(_ handle: OpaquePointer) {
        if case .open = gate, recorder == nil, updates.isEmpty, tracker == nil {
            return sqlcipherkit_set_authorizer(handle, nil, nil)
        }
        sqlcipherkit_set_authorizer(
            handle,
            { context, code, first, second, schema, origin in
                guard let hooks = ConnectionHooks.at(context) else { return SQLITE_DENY }
                return hooks.decide(code, first, second, schema, origin)
            }, pointer)
    }

    private func decide(
        _ code: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?, _ schema: UnsafePointer<CChar>?,
        _ origin: UnsafePointer<CChar>?
    ) -> Int32 {
        let gate = isRestoring ? .open : gate
        if case .access(let policy) = gate {
            guard let handle = connection.handle else { return SQLITE_DENY }
            let (first, second) = (first.map { String(cString: $0) } ?? "", second.map { String(cString: $0) } ?? "")
            let answer = policy.decide(handle, code, first, second, schema)
            if answer != SQLITE_OK { return answer }
        }
        // These codes concern only a restricted access.
        if code >= SQLCIPHERKIT_OPENS_TABLE { return SQLITE_OK }
        if case .authorizer(let authorizer) = gate {
            let request = AuthorizationRequest(
                action: .init(code), code: Int(code), first: first.map { String(cString: $0) },
                second: second.map { String(cString: $0) }, schema: schema.map { String(cString: $0) },
                origin: origin.map { String(cString: $0) })
            switch connection.inHook({ authorizer(request) }) {
            case .allow: break
            case .deny: return SQLITE_DENY
            case .ignore: return SQLITE_IGNORE
            }
        }
        if code == SQLITE_ATTACH || code == SQLITE_DETACH, let tracker {
            // Neither of them commits. Both are compiled again each time.
            tracker.isAttaching = true
            connection.awaitsCommit = true
        }
        if let recorder, let handle = connection.handle { recorder.record(handle, code, first, second, schema) }
        return updates.isEmpty ? SQLITE_OK : rowByRow(code, first)
    }

    /// Ignoring a DELETE makes SQLite delete row by row. But a DROP also asks for a DELETE, first of SQLite's own table and then,
    /// right after the drop itself, of the dropped one. Ignoring these would keep the table.
    private func rowByRow(_ code: Int32, _ table: UnsafePointer<CChar>?) -> Int32 {
        switch code {
        case SQLITE_DELETE:
            let name = table.map { String(cString: $0) } ?? ""
            let isDrop = droppedTable?.isSameText(as: name) == true
            droppedTable = nil
            return isDrop || name.hasNamePrefix("sqlite_") ? SQLITE_OK : SQLITE_IGNORE
        case SQLITE_DROP_TABLE, SQLITE_DROP_TEMP_TABLE, SQLITE_DROP_VTABLE, SQLITE_DROP_VIEW, SQLITE_DROP_TEMP_VIEW:
            droppedTable = table.map { String(cString: $0) }
        default:
            droppedTable = nil
        }
        return SQLITE_OK
    }
}

extension AuthorizationRequest.Action {
    fileprivate init(_ code: Int32) {
        self =
            switch code {
            case SQLITE_SELECT: .select
            case SQLITE_READ: .read
            case SQLITE_INSERT: .insert
            case SQLITE_UPDATE: .update
            case SQLITE_DELETE: .delete
            case SQLITE_FUNCTION: .function
            case SQLITE_RECURSIVE: .recursive
            case SQLITE_PRAGMA: .pragma
            case SQLITE_TRANSACTION: .transaction
            case SQLITE_SAVEPOINT: .savepoint
            case SQLITE_ATTACH: .attach
            case SQLITE_DETACH: .detach
            case SQLITE_CREATE_INDEX, SQLITE_CREATE_TABLE, SQLITE_CREATE_TEMP_INDEX, SQLITE_CREATE_TEMP_TABLE,
                SQLITE_CREATE_TEMP_TRIGGER, SQLITE_CREATE_TEMP_VIEW, SQLITE_CREATE_TRIGGER, SQLITE_CREATE_VIEW,
                SQLITE_CREATE_VTABLE:
                .create
            case SQLITE_DROP_INDEX, SQLITE_DROP_TABLE, SQLITE_DROP_TEMP_INDEX, SQLITE_DROP_TEMP_TABLE, SQLITE_DROP_TEMP_TRIGGER,
                SQLITE_DROP_TEMP_VIEW, SQLITE_DROP_TRIGGER, SQLITE_DROP_VIEW, SQLITE_DROP_VTABLE:
                .drop
            case SQLITE_ALTER_TABLE: .alter
            case SQLITE_REINDEX: .reindex
            case SQLITE_ANALYZE: .analyze
            default: .other
            }
    }
}
