import Foundation
import SQLCipherKitCore

/// The properties of a record, as columns to describe.
@dynamicMemberLookup
public struct SQLProperties<Record: SQLRecord> {
    /// The column of a property, with the property's name, the type that its values are stored as, and `NOT NULL` unless it is
    /// optional. If its coding key is different, or for a computed or observed property, set the name with ``SQLColumn/named(_:)``.
    public subscript<Value>(dynamicMember keyPath: KeyPath<Record, Value> & Sendable) -> SQLColumn {
        SQLColumn(
            property: AnyProperty(keyPath),
            name: Record._recordColumns?.positions.column(keyPath)?.name ?? PropertyName.described(keyPath) ?? "",
            propertyName: PropertyName.property(keyPath), type: .of(Value.self),
            isNotNull: !(Value.self is any SQLNullable.Type), holdsDates: SQLColumn.holdsDates(Value.self))
    }
}

/// A key path as a dictionary key.
struct AnyProperty: Hashable, Sendable {
    private let keyPath: AnyKeyPath & Sendable

    init(_ keyPath: AnyKeyPath & Sendable) { self.keyPath = keyPath }

    static func == (a: AnyProperty, b: AnyProperty) -> Bool { a.keyPath == b.keyPath }
    func hash(into hasher: inout Hasher) { keyPath.hash(into: &hasher) }
}

extension SQLColumn {
    /// Returns whether a type is a date, or wraps one.
    fileprivate static func holdsDates(_ type: any Any.Type) -> Bool {
        switch type {
        case let type as any SQLNullable.Type: holdsDates(type.wrapped)
        case is Date.Type, is ColumnDefault<Date>.Type: true
        case let type as any RawRepresentable.Type: holdsDates(rawValueOf: type)
        default: false
        }
    }

    private static func holdsDates<T: RawRepresentable>(rawValueOf type: T.Type) -> Bool { holdsDates(T.RawValue.self) }
}

extension SQLColumn.DeclaredType {
    /// The column type for values of a Swift type.
    static func of(_ type: any Any.Type) -> Self {
        switch type {
        case let type as any SQLNullable.Type: of(type.wrapped)
        case is any FixedWidthInteger.Type, is Bool.Type: .integer
        case is any BinaryFloatingPoint.Type: .real
        case is String.Type, is URL.Type: .text
        case is Data.Type, is [UInt8].Type: .blob
        case is any JSONCollection.Type: .text
        // `Date` and the like are stored according to a profile. Any other type may store its values in several ways, which no
        // affinity may change.
        default: .any
        }
    }
}
