/// A pattern for `LIKE` in which text stands for itself, `%`, `_` and `\` included: for searching without a full-text index
/// (<https://sqlite.org/lang_expr.html#like>).
/// ```swift
/// let notes = try db.fetchAll(Note.self, "SELECT * FROM note WHERE \(LikePattern.contains("100%").condition(on: "title"))")
/// // … WHERE "title" LIKE ? ESCAPE '\'
/// ```
/// Only ASCII letters match without regard to case. Such a search reads every row, and finds parts of words.
public struct LikePattern: Hashable, Sendable {
    /// The pattern, with `\` before each character that would mean something else.
    public let pattern: String

    /// Text anywhere in the column.
    public static func contains(_ text: String) -> LikePattern { LikePattern(pattern: "%" + escape(text) + "%") }

    /// Text that the column begins with.
    public static func begins(with text: String) -> LikePattern { LikePattern(pattern: escape(text) + "%") }

    /// Text that the column ends with.
    public static func ends(with text: String) -> LikePattern { LikePattern(pattern: "%" + escape(text)) }

    /// The condition that a column matches, to be put into a query.
    ///
    /// SQLite ends a pattern at a NUL character: a statement with such a pattern throws
    /// ``DatabaseError/Reason/invalidArgument``.
    public func condition(on column: String) -> SQL { condition(on: "\(identifier: column)") }

    func condition(on expression: SQL) -> SQL {
        guard pattern.utf8.contains(0) else { return "\(expression) LIKE \(pattern) ESCAPE '\\'" }
        return "\(expression) LIKE \(Self.cut)"
    }

    /// In place of a pattern that SQLite would take only the beginning of.
    static let cut = RefusedValue(.invalidArgument("a pattern for LIKE contains a NUL character, at which SQLite would end it"))

    private static func escape(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "%" || scalar == "_" || scalar == "\\" { escaped.append("\\") }
            escaped.append(scalar)
        }
        return String(escaped)
    }
}
