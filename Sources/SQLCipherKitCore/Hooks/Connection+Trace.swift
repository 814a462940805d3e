import CSQLCipher

/// An event reported to a trace hook.
public struct TraceEvent: Sendable {
    /// The stage of a statement.
    public enum Kind: Sendable, Hashable {
        /// The statement begins to run.
        case started
        /// The statement ran to its end, was reset, or failed. The value is its running time, including the caller's time on its
        /// rows.
        case finished(Duration)
    }

    /// The event.
    public let kind: Kind
    /// The statement. Bound values are placeholders, unless the hook asked for them; keys in the SQL are always removed.
    ///
    /// For a trigger that starts, it is a comment with the trigger's name: `-- TRIGGER name`.
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
    /// Bound values are not shown, so a trace may be kept. Values written in the SQL text itself are part of the text.
    /// - Parameters:
    ///   - showingValues: whether the SQL shows the bound values instead of its placeholders, for debugging. Default: false.
    ///   - body: must not use the connection: its calls throw ``DatabaseError/Reason/misuse`` while `body` runs.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    @discardableResult
    public func addTraceHook(
        showingValues: Bool = false, _ body: @escaping (TraceEvent) -> Void
    ) throws -> HookToken {
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
            // SQLite reports a trigger inside the statement with the same handle and a comment as its text.
            if let text = detail.map({ String(cString: $0.assumingMemoryBound(to: CChar.self)) }), text.hasTextPrefix("--") {
                comment = text
            } else {
                starts[statement] = now
            }
        } else {
            // SQLite's own times have a resolution of one millisecond.
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
