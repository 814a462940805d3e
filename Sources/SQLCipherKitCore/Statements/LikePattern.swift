/// A pattern for `LIKE` in which all text is literal, including `%`, `_` and `\`: for searching without a full-text index
/// (<https://sqlite.org/lang_expr.html#like>).
/// ```swift
/// let notes = try db.fetchAll(Note.self, "SELECT * FROM note WHERE \(LikePattern.contains("100%").condition(on: "title"))")
/// // … WHERE "title" LIKE ? ESCAPE '\'
/// ```
/// Case is ignored for ASCII letters only. Such a search reads every row, and also finds parts of words.
public struct LikePattern: Hashable, Sendable {
    /// The pattern, with `\` before each `%`, `_` and `\` of the text.
    public let pattern: String

    /// Text anywhere in the column.
    public static func contains(_ text: String) -> LikePattern { LikePattern(pattern: "%" + escape(text) + "%") }

    /// Text that the column begins with.
    public static func hasPrefix(_ text: String) -> LikePattern { LikePattern(pattern: escape(text) + "%") }

    /// Text that the column ends with.
    public static func hasSuffix(_ text: String) -> LikePattern { LikePattern(pattern: "%" + escape(text)) }

    /// Returns the condition that a column matches the pattern, to be interpolated into a query.
    ///
    /// SQLite would end a pattern at a NUL character, so a statement with such a pattern throws
    /// ``DatabaseError/Reason/invalidArgument``.
    public func condition(on column: String) -> SQL { condition(on: "\(identifier: column)") }

    package func condition(on expression: SQL) -> SQL {
        guard pattern.utf8.contains(0) else { return "\(expression) LIKE \(pattern) ESCAPE '\\'" }
        return "\(expression) LIKE \(Self.cut)"
    }

    /// Replaces a pattern that SQLite would cut off at a NUL character: the statement throws instead.
    package static let cut = RefusedValue(
        .invalidArgument("a pattern for LIKE contains a NUL character, at which SQLite would end it"))

    private static func escape(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "%" || scalar == "_" || scalar == "\\" { escaped.append("\\") }
            escaped.append(scalar)
        }
        return String(escaped)
    }
}
