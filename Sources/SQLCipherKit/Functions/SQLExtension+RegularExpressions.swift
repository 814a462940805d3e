/// Which texts a regular expression finds.
public enum RegularExpressionMatch: Hashable, Sendable {
    /// Those that it matches from their first character to their last.
    case whole
    /// Those that it matches a part of.
    case contains
}

/// Compiles each pattern once. A regular expression takes far longer to compile than to match a short text.
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
    /// The function that SQL's operator `REGEXP` calls, which SQLite leaves to the program: `text REGEXP pattern`.
    /// ```swift
    /// try db.register(.regularExpressions(matching: .contains))
    /// let titles = try db.fetchAll(String.self, "SELECT title FROM note WHERE title REGEXP \("v[0-9]+")")
    /// ```
    /// Patterns are Swift's regular expressions (<https://github.com/swiftlang/swift-evolution/blob/main/proposals/0355-regex-syntax-run-time-construction.md>):
    /// characters are those that people see. Some patterns take a very long time for some texts: do not run untrusted ones
    /// without a time limit. NULL on either side gives NULL; numbers are compared as SQLite writes them.
    ///
    /// A pattern that is not well-formed fails the statement with ``DatabaseError/Reason/invalidArgument``. Registering throws
    /// ``DatabaseError`` while `REGEXP` is running.
    /// - Parameters:
    ///   - match: whether the whole text has to match, or a part of it.
    ///   - ignoresCase: whether upper and lower case are the same. Default: no.
    public static func regularExpressions(
        matching match: RegularExpressionMatch, ignoringCase ignoresCase: Bool = false
    ) -> SQLExtension {
        let cache = PatternCache(ignoresCase: ignoresCase)
        return function("regexp", arguments: 2, [.deterministic, .innocuous]) { arguments -> Bool? in
            guard let pattern = try arguments.text(0), let text = try arguments.text(1) else { return nil }
            let regex = try cache.regex(pattern)
            return try match == .whole ? regex.wholeMatch(in: text) != nil : regex.firstMatch(in: text) != nil
        }
    }
}
