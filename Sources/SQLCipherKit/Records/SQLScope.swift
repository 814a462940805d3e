/// The table names that the closures of enclosing queries can refer to.
///
/// A query inside such a closure gets different names for its own tables. Otherwise a column of the outer table would be mistaken
/// for one of an inner table of the same name.
enum SQLScope {
    /// The tables of one query, and those around it.
    private final class Level: Sendable {
        let sides: [SQLClauses.Side]
        let outer: Level?

        init(_ sides: [SQLClauses.Side], _ outer: Level?) { (self.sides, self.outer) = (sides, outer) }
    }

    // The names are collected where a query is written inside of a closure, and not for each closure.
    @TaskLocal private static var level: Level?

    static var isEmpty: Bool { level == nil }

    static var names: Set<SQLName> {
        var names: Set<SQLName> = []
        var next = level
        while let level = next {
            for side in level.sides { names.insert(SQLName(side.alias)) }
            next = level.outer
        }
        return names
    }

    /// Runs a closure that receives the columns of a query.
    static func within<R>(_ clauses: SQLClauses, _ body: () -> R) -> R {
        $level.withValue(Level(clauses.sides, level)) { body() }
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
            copy.failure = .misuse(
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
