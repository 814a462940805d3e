/// The names of the tables that the closures of the queries around can refer to.
///
/// A query that is written inside of such a closure gets other names for its own tables. Otherwise a column of the outer table
/// would be taken for one of the inner table of the same name.
enum SQLScope {
    @TaskLocal static var names: Set<SQLName> = []

    /// Runs a closure that gets the columns of a query.
    static func within<R>(_ clauses: SQLClauses, _ body: () -> R) -> R {
        $names.withValue(names.union(clauses.sides.lazy.map { SQLName($0.alias) })) { body() }
    }

    /// A name for a table that neither the scope nor the query has yet: its own, or that with a number.
    static func freeName(_ table: SQLTable, _ sides: [SQLClauses.Side] = []) -> String {
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
    /// The query with names that are not in the scope, if it has any that are: one that was made outside of the closure that it is
    /// continued in. What has conditions already has its names in them.
    var renamedForScope: SQLClauses? {
        let scope = SQLScope.names
        guard !scope.isEmpty, sides.contains(where: { scope.contains(SQLName($0.alias)) }) else { return nil }
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
