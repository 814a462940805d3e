import Foundation
import SQLCipherKitCore

/// The properties of a record, as columns to describe.
@dynamicMemberLookup
public struct SQLProperties<Record: SQLRecord> {
    /// The column of a property, with the name of its coding key, the type that its values are stored as, and `NOT NULL` unless it
    /// is optional. The name of a computed or observed property is unknown: set it with ``SQLColumn/named(_:)``.
    public subscript<Value>(dynamicMember keyPath: KeyPath<Record, Value> & Sendable) -> SQLColumn {
        SQLColumn(
            property: AnyProperty(keyPath),
            name: Record._recordColumns?.positions.column(keyPath)?.name ?? PropertyName.of(keyPath) ?? "", type: .of(Value.self),
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
    /// Whether a type is a date, or wraps one.
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
        // Stored according to the connection's ValueProfile.
        case is Date.Type, is UUID.Type, is Decimal.Type: .any
        case let type as any (RawRepresentable & SQLValueConvertible).Type: raw(type)
        case let type as any RawRepresentable.Type: rawValue(type)
        // A type that defines how it is stored may do so differently for each value.
        case is any SQLValueConvertible.Type: .any
        case let type as any Decodable.Type: coded(type)
        // JSON.
        default: .text
        }
    }

    /// The column type for a type that codes itself: that of the single value which it consists of; none where values differ in
    /// theirs, as another affinity would turn a value into one that the type does not read; or text, for JSON.
    private static func coded(_ type: any Decodable.Type) -> Self {
        let answer = FormProbe.ask(type)
        guard let first = answer.asked.first else { return .text }
        let declared = of(first)
        if answer.isDocument, declared != .text { return .any }
        guard answer.asked.allSatisfy({ of($0) == declared }) else { return .any }
        // What it writes decides, as far as that is known.
        guard let example = (try? PropertyProbe.value(type)) as? any Encodable,
            let stored = try? ColumnEncoder.encode(example, [])?.sqlValue
        else { return declared }
        return fits(stored.storageClass, declared) ? declared : .any
    }

    private static func rawValue<T: RawRepresentable>(_ type: T.Type) -> Self { of(T.RawValue.self) }

    /// The column type for a type that is stored as its raw value, or says otherwise: its cases tell, or an invented value.
    private static func raw<T: RawRepresentable & SQLValueConvertible>(_ type: T.Type) -> Self {
        let declared = rawValue(type)
        let own = examples(type).compactMap { (value: T) in try? value.sqlValue.storageClass }
        return own.allSatisfy { fits($0, declared) } ? declared : .any
    }

    private static func examples<T>(_ type: T.Type) -> [T] {
        func cases<E: CaseIterable>(_ type: E.Type) -> [T] { E.allCases.compactMap { $0 as? T } }
        if let type = type as? any CaseIterable.Type { return cases(type) }
        return (type as? any Decodable.Type).flatMap { try? PropertyProbe.value($0) as? T }.map { [$0] } ?? []
    }

    /// Whether values of a storage class stay as they are in a column of this type.
    private static func fits(_ stored: StorageClass, _ declared: Self) -> Bool {
        switch (stored, declared) {
        case (.integer, .integer), (.real, .real), (.text, .text), (.blob, .blob), (.null, _), (_, .any): true
        default: false
        }
    }
}
