import CSQLCipher

extension SQLExtension {
    /// Creates the function that SQL's operator `REGEXP` calls, which SQLite leaves to the program: `text REGEXP pattern`.
    /// ```swift
    /// try db.register(.regularExpressions())
    /// let titles = try db.fetchAll(String.self, "SELECT title FROM note WHERE title REGEXP \("v[0-9]+")")
    /// ```
    /// A character is a Swift `Character`. A pattern has the syntax of Swift's regular expressions
    /// (<https://github.com/swiftlang/swift-evolution/blob/main/proposals/0355-regex-syntax-run-time-construction.md>), except for
    /// features that need backtracking: backreferences, lookahead and lookbehind, atomic groups and possessive quantifiers. The
    /// only Unicode properties are the general categories, such as `\p{Lu}`.
    ///
    /// The maximum number of steps of a match is the number of the text's characters times the number of the pattern's parts, in
    /// which `{n}` counts n times. An interrupt, a timeout, a cancelled task, the progress handler and `stepLimit` end a match
    /// early. Errors show neither the text nor the pattern. Since each row can still cost `stepLimit` steps, the schema of an
    /// untrusted file cannot call the function (``ConnectionOption/trustedSchema``). If either side is NULL, the result is NULL;
    /// numbers are matched as SQLite writes them.
    ///
    /// A pattern that is malformed, that has more than 10,000 bytes, more than 10,000 parts, or more than 100 nested groups fails
    /// the statement with ``DatabaseError/Reason/invalidArgument``. A match that needs more than `stepLimit` steps fails it with
    /// ``DatabaseError/Reason/limitExceeded``. Registering throws ``DatabaseError`` while `REGEXP` is running.
    /// - Parameters:
    ///   - matchesWhole: whether the whole text has to match, from its first character to its last. Default: false, so a part of
    ///     the text is enough.
    ///   - ignoresCase: whether to ignore case. Default: false.
    ///   - stepLimit: the maximum number of steps of one match; ten million take about a second. Default: 100 million.
    public static func regularExpressions(
        matchingWhole matchesWhole: Bool = false, ignoringCase ignoresCase: Bool = false, stepLimit: Int = 100_000_000
    ) -> SQLExtension {
        SQLExtension { connection in
            let cache = PatternCache(ignoresCase: ignoresCase)
            // SQLite calls functions only in calls on the connection, which keep it alive.
            let function = SQLExtension(
                function: "regexp", 2, .deterministic
            ) { [unowned(unsafe) connection] arguments, result, _ in
                guard let pattern = try arguments.text(0), let text = try arguments.text(1) else { return try result.set(.null) }
                var left = stepLimit
                let isMatch = try cache.expression(pattern).matches(text, whole: matchesWhole, &cache.scratch) { steps in
                    left -= steps
                    if left < 0 {
                        throw DatabaseError(
                            reason: .limitExceeded, message: "a match of a regular expression takes more than \(stepLimit) steps")
                    }
                    try connection.requireNoInterrupt()
                }
                try result.set(.integer(isMatch ? 1 : 0))
            }
            try function.install(connection)
        }
    }
}

extension Connection {
    /// Ends the work of a function as SQLite ends a statement.
    fileprivate func requireNoInterrupt() throws {
        if sqlite3_is_interrupted(handle) != 0 { throw failure(SQLITE_INTERRUPT) }
        try requireToGoOn()
    }
}

/// Compiles each pattern once, because compiling a regular expression takes longer than matching a short text.
private final class PatternCache {
    private var patterns = RecentCache<String, RegularExpression>()
    private let ignoresCase: Bool
    var scratch = RegularExpression.Scratch()

    init(ignoresCase: Bool) { self.ignoresCase = ignoresCase }

    func expression(_ pattern: String) throws -> RegularExpression {
        if let known = patterns.find(pattern) { return known }
        let expression = try RegularExpression(pattern, ignoringCase: ignoresCase)
        patterns.add(expression, pattern)
        return expression
    }
}
