/// A property that takes its column's default until it is set.
///
/// Writing a record tells three things apart: a value, nil, which is NULL, and a property that was never set, which an insertion
/// leaves to the column's default, and an update as it is in the database.
/// ```swift
/// struct Note: SQLRecord {
///     var id: Int64?
///     var title: String
///     @ColumnDefault var made: Date?                  // made TEXT DEFAULT CURRENT_TIMESTAMP
/// }
/// var note = Note(title: "Plan")
/// try db.insert(&note)                                // INSERT INTO "note"("id", "title") VALUES (?, ?) RETURNING *
/// print(note.made!)                                   // read back
/// note.made = nil
/// try db.update(note)                                 // made is NULL now
/// ```
/// A record that was read has the properties set whose columns were read. In an initializer write a literal, nil, or
/// `ColumnDefault(value)`. A wrapped property tells queries no name: give it a column with ``SQLColumn/named(_:)``.
///
/// In JSON a property that was never set has no member.
@propertyWrapper
public struct ColumnDefault<Value> {
    private var value: Value?

    /// Whether it was set, to a value or to nil.
    public private(set) var isSet: Bool

    /// The value; nil for NULL, and while it was not set.
    public var wrappedValue: Value? {
        get { value }
        set {
            value = newValue
            isSet = true
        }
    }

    /// The wrapper: `note.$made.isSet`, and `note.$made = ColumnDefault()` to take the default again.
    public var projectedValue: ColumnDefault {
        get { self }
        set { self = newValue }
    }

    /// A property that was not set.
    public init() { isSet = false }

    /// A property that is set.
    public init(wrappedValue: Value?) {
        value = wrappedValue
        isSet = true
    }

    /// A property that is set.
    public init(_ value: Value?) { self.init(wrappedValue: value) }
}

extension ColumnDefault: Sendable where Value: Sendable {}
extension ColumnDefault: Equatable where Value: Equatable {}
extension ColumnDefault: Hashable where Value: Hashable {}

extension ColumnDefault: ExpressibleByNilLiteral {
    public init(nilLiteral: ()) { self.init(wrappedValue: nil) }
}

extension ColumnDefault: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Value.IntegerLiteralType) { self.init(wrappedValue: Value(integerLiteral: value)) }
}

extension ColumnDefault: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Value.FloatLiteralType) { self.init(wrappedValue: Value(floatLiteral: value)) }
}

extension ColumnDefault: ExpressibleByBooleanLiteral where Value: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Value.BooleanLiteralType) { self.init(wrappedValue: Value(booleanLiteral: value)) }
}

extension ColumnDefault: ExpressibleByUnicodeScalarLiteral where Value: ExpressibleByUnicodeScalarLiteral {
    public init(unicodeScalarLiteral value: Value.UnicodeScalarLiteralType) {
        self.init(wrappedValue: Value(unicodeScalarLiteral: value))
    }
}

extension ColumnDefault: ExpressibleByExtendedGraphemeClusterLiteral where Value: ExpressibleByExtendedGraphemeClusterLiteral {
    public init(extendedGraphemeClusterLiteral value: Value.ExtendedGraphemeClusterLiteralType) {
        self.init(wrappedValue: Value(extendedGraphemeClusterLiteral: value))
    }
}

extension ColumnDefault: ExpressibleByStringLiteral where Value: ExpressibleByStringLiteral {
    public init(stringLiteral value: Value.StringLiteralType) { self.init(wrappedValue: Value(stringLiteral: value)) }
}
