import CSQLCipher

/// What a trace hook is told.
public struct TraceEvent: Sendable {
    /// Where in its life a statement is.
    public enum Kind: Sendable, Hashable {
        /// It begins to run.
        case started
        /// It ran to its end, was reset, or failed, so long after its beginning. Time in which the caller looked at its rows
        /// counts as well.
        case finished(Duration)
    }

    /// What happened.
    public let kind: Kind
    /// The statement. Bound values are placeholders, unless the hook asked for them; keys typed into the SQL are cut out always.
    ///
    /// A trigger that starts is a comment with its name: `-- TRIGGER name`.
    public let sql: String
}

extension Connection {
    /// Calls `body` when a statement begins and when it ends (<https://sqlite.org/c3ref/trace_v2.html>).
    ///
    /// ```swift
    /// try db.addTraceHook { event in
    ///     if case .finished(let time) = event.kind, time > .milliseconds(50) { print("slow:", time, event.sql) }
    /// }
    /// ```
    /// Values that are bound are not shown, so that a trace may be kept; what stands in the SQL text itself is part of the text.
    /// - Parameters:
    ///   - showingValues: whether the SQL has the bound values in place of its placeholders: for debugging. Default: no.
    ///   - body: must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` meanwhile.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside of a hook.
    @discardableResult
    public func addTraceHook(
        showingValues: Bool = false, _ body: @escaping (TraceEvent) -> Void
    ) throws(DatabaseError) -> HookToken {
        let (hooks, handle) = try usableHooks()
        let id = hooks.traces.add(TraceHook(showsValues: showingValues, body: body))
        sqlite3_trace_v2(
            handle, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE),
            { kind, context, statement, detail in
                if let statement { ConnectionHooks.at(context)?.traced(kind, OpaquePointer(statement), detail) }
                return 0
            }, hooks.pointer)
        return token(\.traces, id) { db, handle in
            sqlite3_trace_v2(handle, 0, nil, nil)
            db.hooks?.starts = [:]
        }
    }
}

struct TraceHook {
    let showsValues: Bool
    let body: (TraceEvent) -> Void
}

extension ConnectionHooks {
    fileprivate func traced(_ kind: UInt32, _ statement: OpaquePointer, _ detail: UnsafeMutableRawPointer?) {
        let now = ContinuousClock.now
        var what = TraceEvent.Kind.started
        var comment: String?
        if kind == SQLITE_TRACE_STMT {
            // A trigger inside of the statement is announced under the same handle, with a comment for its text.
            if let text = detail.map({ String(cString: $0.assumingMemoryBound(to: CChar.self)) }), text.hasTextPrefix("--") {
                comment = text
            } else {
                starts[statement] = now
            }
        } else {
            // SQLite's own time has a resolution of a millisecond.
            what = .finished(starts.removeValue(forKey: statement).map { now - $0 } ?? .zero)
        }
        connection.inHook {
            for hook in traces.bodies {
                let sql = comment ?? Self.text(of: statement, showingValues: hook.body.showsValues)
                hook.body.body(TraceEvent(kind: what, sql: KeyRedaction.clean(sql)))
            }
        }
    }

    private static func text(of statement: OpaquePointer, showingValues: Bool) -> String {
        if showingValues, let expanded = sqlite3_expanded_sql(statement) {
            defer { sqlite3_free(expanded) }
            return String(cString: expanded)
        }
        return sqlite3_sql(statement).map { String(cString: $0) } ?? ""
    }
}
