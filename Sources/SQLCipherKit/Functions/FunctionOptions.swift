import CSQLCipher

/// What SQLite may assume of a function (<https://sqlite.org/c3ref/c_deterministic.html>).
public struct FunctionOptions: OptionSet, Hashable, Sendable {
    public let rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The same arguments always give the same result: the function may stand in indexes and generated columns, and a call
    /// with constant arguments is made once for a statement.
    public static let deterministic = FunctionOptions(rawValue: SQLITE_DETERMINISTIC)
    /// The function may be called from SQL only, not from views, triggers, indexes and defaults of a schema, which may
    /// be untrusted. For a function with side effects, or one that reveals something.
    public static let directOnly = FunctionOptions(rawValue: SQLITE_DIRECTONLY)
    /// The function is harmless whatever its arguments: a schema may call it also where ``ConnectionOption/trustedSchema`` is off.
    public static let innocuous = FunctionOptions(rawValue: SQLITE_INNOCUOUS)
}
