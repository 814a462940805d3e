/// Compiles each pattern once, because compiling a regular expression takes far longer than matching a short text.
private final class PatternCache {
    private var patterns = RecentCache<String, Regex<AnyRegexOutput>>()
    private let ignoresCase: Bool

    init(ignoresCase: Bool) { self.ignoresCase = ignoresCase }

    func regex(_ pattern: String) throws(DatabaseError) -> Regex<AnyRegexOutput> {
        if let known = patterns.find(pattern) { return known }
        var regex: Regex<AnyRegexOutput>
        do { regex = try Regex(pattern) } catch {
            throw DatabaseError(
                reason: .invalidArgument, message: "the regular expression \(pattern) is not well-formed: \(error)",
                underlying: error)
        }
        if ignoresCase { regex = regex.ignoresCase() }
        patterns.add(regex, pattern)
        return regex
    }
}

extension SQLExtension {
    /// Creates the function that SQL's operator `REGEXP` calls, which SQLite leaves to the program: `text REGEXP pattern`.
    /// ```swift
    /// try db.register(.regularExpressions())
    /// let titles = try db.fetchAll(String.self, "SELECT title FROM note WHERE title REGEXP \("v[0-9]+")")
    /// ```
    /// Patterns are Swift's regular expressions (<https://github.com/swiftlang/swift-evolution/blob/main/proposals/0355-regex-syntax-run-time-construction.md>):
    /// characters are those that a reader sees. Some patterns take a very long time with some texts: do not run untrusted patterns
    /// without a time limit. For that reason, the schema of an untrusted file cannot call the function
    /// (``ConnectionOption/trustedSchema``). If either side is NULL, the result is NULL; numbers are matched as SQLite writes them.
    ///
    /// A malformed pattern fails the statement with ``DatabaseError/Reason/invalidArgument``. Registering throws ``DatabaseError``
    /// while `REGEXP` is running.
    /// - Parameters:
    ///   - matchesWhole: whether the whole text has to match, from its first character to its last. Default: false, a part of it.
    ///   - ignoresCase: whether to ignore case. Default: false.
    public static func regularExpressions(
        matchingWhole matchesWhole: Bool = false, ignoringCase ignoresCase: Bool = false
    ) -> SQLExtension {
        let cache = PatternCache(ignoresCase: ignoresCase)
        return function("regexp", arguments: 2, [.deterministic]) { arguments -> Bool? in
            guard let pattern = try arguments.text(0), let text = try arguments.text(1) else { return nil }
            let regex = try cache.regex(pattern)
            return try matchesWhole ? regex.wholeMatch(in: text) != nil : regex.firstMatch(in: text) != nil
        }
    }
}
