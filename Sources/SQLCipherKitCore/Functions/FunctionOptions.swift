import CSQLCipher

/// Properties of a function that SQLite may rely on (<https://sqlite.org/c3ref/c_deterministic.html>).
public struct FunctionOptions: OptionSet, Hashable, Sendable {
    public let rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The same arguments always give the same result: the function may be used in indexes and generated columns, and a call with
    /// constant arguments is made once per statement.
    public static let deterministic = FunctionOptions(rawValue: SQLITE_DETERMINISTIC)
    /// The function may be called only directly from SQL, not from views, triggers, indexes and defaults of a schema, which may be
    /// untrusted. For a function that has side effects or reveals information.
    public static let directOnly = FunctionOptions(rawValue: SQLITE_DIRECTONLY)
    /// The function is harmless with any arguments: a schema may call it even if ``ConnectionOption/trustedSchema`` is off.
    public static let innocuous = FunctionOptions(rawValue: SQLITE_INNOCUOUS)
}
