import CSQLCipher
import SQLCipherKitCore

/// The table names that the closures of enclosing queries can refer to.
///
/// A query inside such a closure gets different names for its own tables. Otherwise a column of the outer table would be mistaken
/// for a column of an inner table with the same name.
enum SQLScope {
    /// The tables of one query, and of the queries around it.
    private struct Level {
        let sides: [SQLClauses.Side]
        let outer: UnsafePointer<Level>?
    }

    // Closures of queries return before their query does, so the levels are on the stack of the thread that runs the closures.
    private static var level: UnsafePointer<Level>? {
        get { sqlcipherkit_query_scope().map { UnsafePointer($0.assumingMemoryBound(to: Level.self)) } }
        set { sqlcipherkit_set_query_scope(newValue) }
    }

    static var isEmpty: Bool { sqlcipherkit_query_scope() == nil }

    static var names: Set<SQLName> {
        var names: Set<SQLName> = []
        var next = level
        while let level = next?.pointee {
            for side in level.sides { names.insert(SQLName(side.alias)) }
            next = level.outer
        }
        return names
    }

    /// Runs a closure that receives the columns of a query.
    static func within<R>(_ clauses: SQLClauses, _ body: () -> R) -> R {
        let outer = level
        return withUnsafePointer(to: Level(sides: clauses.sides, outer: outer)) { inner in
            level = inner
            defer { level = outer }
            return body()
        }
    }

    /// A name for a table that is not yet used in the scope or the query: its own, with a number if necessary.
    static func freeName(_ table: SQLTable, _ sides: [SQLClauses.Side] = []) -> String {
        if isEmpty, sides.isEmpty { return table.name }
        let taken = names.union(sides.lazy.map { SQLName($0.alias) })
        var name = table.name
        var number = 1
        while taken.contains(SQLName(name)) {
            number += 1
            name = "\(table.name)_\(number)"
        }
        return name
    }
}

extension SQLClauses {
    /// The query with new names, if any of its names are in the scope, as happens when it was created outside the closure that
    /// continues it. A query that already has conditions cannot be renamed, because they contain its names.
    var renamedForScope: SQLClauses? {
        if SQLScope.isEmpty { return nil }
        let scope = SQLScope.names
        guard sides.contains(where: { scope.contains(SQLName($0.alias)) }) else { return nil }
        var copy = self
        if hasExpressions {
            copy.failure = DatabaseError.misuse(
                "a query of \(sides[0].table.name) is continued in a closure of another query of that table: give it a name with "
                    + "named(_:), or write it in the closure as a whole")
            return copy
        }
        copy.sides = []
        for var side in sides {
            side.alias = SQLScope.freeName(side.table, copy.sides)
            copy.sides.append(side)
        }
        return copy
    }

    private var hasExpressions: Bool {
        let isJoined = sides.contains { if case .predicate = $0.link { true } else { false } }
        return isJoined || filter != nil || having != nil || !groups.isEmpty || !orderings.isEmpty
    }
}
