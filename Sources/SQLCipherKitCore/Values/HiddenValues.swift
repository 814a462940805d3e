/// A type whose values no description shows: not `print`, `dump` or `String(reflecting:)`, not a debugger's summary, and not an
/// error that quotes it. Values that a program binds or reads may be secret, and descriptions end up in logs. To see a value, read
/// it.
///
/// Public only because public types conform to it.
public protocol _HidesValues: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension _HidesValues {
    /// The type's name.
    public var description: String { String(describing: Self.self) }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SQLValue: _HidesValues {
    /// The storage class.
    public var description: String { storageClass.rawValue }
}

extension StatementArguments: _HidesValues {
    /// The number of values, and the names of the values that have a name.
    public var description: String {
        named.isEmpty ? "\(count) value\(count == 1 ? "" : "s")" : named.map(\.name).joined(separator: ", ")
    }
}

extension SQL: _HidesValues {
    /// The text, with a `?` for each bound value.
    public var description: String { text }
}

extension SQL.StringInterpolation: _HidesValues {}

extension OwnedRow: _HidesValues {
    /// The columns' names with the storage classes of their values.
    public var description: String { zip(columnNames, values).map { "\($0): \($1)" }.joined(separator: ", ") }
}

extension LikePattern: _HidesValues {}

extension JSONElement: _HidesValues {}

extension Blob: _HidesValues {}
