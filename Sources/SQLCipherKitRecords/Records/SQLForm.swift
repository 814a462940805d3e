import Foundation
import SQLCipherKitCore

/// How the values of a type are stored, for types that a ``ValueProfile`` has several forms for.
enum SQLForm {
    private static let others = TypeMemo()

    /// The type that a type's values are stored as, if that depends on a profile: `Date`, `UUID`, `Decimal`, or a type of the
    /// program's own. Nil for all others, and for documents.
    static func stored(_ type: any Any.Type) -> (any SQLValueConvertible.Type)? {
        if others.contains(type) { return nil }
        let found = find(type)
        if found == nil { others.add(type) }
        return found
    }

    private static func find(_ type: any Any.Type) -> (any SQLValueConvertible.Type)? {
        var type = type
        while let optional = type as? any SQLNullable.Type { type = optional.wrapped }
        switch type {
        case is any FixedWidthInteger.Type, is any BinaryFloatingPoint.Type, is Bool.Type, is String.Type, is URL.Type,
            is Data.Type, is [UInt8].Type, is SQLValue.Type:
            return nil
        case let type as any (SQLValueConvertible & RawRepresentable).Type:
            return raw(type)
        case let type as any SQLValueConvertible.Type:
            return type._isJSONDocument ? nil : type
        case let type as any Decodable.Type:
            return DocumentTypes.stored(type).flatMap { find($0) }
        default:
            return nil
        }
    }

    /// An enumeration is stored as its raw values are, if it does not say otherwise.
    private static func raw<T: SQLValueConvertible & RawRepresentable>(_ type: T.Type) -> (any SQLValueConvertible.Type)? {
        T.RawValue.self is any SQLValueConvertible.Type && find(T.RawValue.self) == nil ? nil : type
    }

    /// Whether a type's values are stored in the same way by two profiles, nil being the connection's.
    static func isSame(_ a: ValueProfile?, _ b: ValueProfile?, _ type: any Any.Type) -> Bool {
        if a == b { return true }
        guard let stored = stored(type) else { return true }
        guard let a, let b else { return false }
        return switch stored {
        case is Date.Type: a.dates == b.dates
        case is UUID.Type: a.uuids == b.uuids
        case is Decimal.Type: a.decimals == b.decimals
        default: false
        }
    }

    /// A form in which any two values can be compared.
    static func common(ordered: Bool) -> ValueProfile {
        ValueProfile(dates: .realSeconds, uuids: .blob, decimals: ordered ? .number : .text)
    }

    /// SQL for values of a type that are stored in the form of one profile, in the form of another; nil is the connection's.
    static func convert(_ sql: SQL, _ type: any Any.Type, from own: ValueProfile?, to form: ValueProfile?) -> SQL {
        guard let stored = stored(type) else { return sql }
        return "\(raw: StoredConversion.function)(\(sql), \(conversion(stored, own, form)))"
    }

    private static func conversion<T: SQLValueConvertible>(
        _ type: T.Type, _ own: ValueProfile?, _ form: ValueProfile?
    ) -> StoredConversion {
        StoredConversion { value, connection in
            guard let read = T(sqlValue: value, in: own ?? connection) else {
                throw DatabaseError(
                    code: .mismatch, reason: .typeMismatch,
                    message: "\(value.storageClass.rawValue) that is no \(T.self) meets values that are stored in another form")
            }
            return try read.sqlValue(in: form ?? connection)
        }
    }

    /// Whether it is decimals whose order matters.
    static func isDecimal(_ type: any Any.Type) -> Bool { type == Decimal.self || type == Decimal?.self }
}

extension SQLExpression {
    /// The expression with its values in the form of a profile; nil for the connection's.
    func converted(to form: ValueProfile?) -> Self {
        if SQLForm.isSame(self.form, form, Value.self) { return self }
        return Self(SQLForm.convert(sql, Value.self, from: self.form, to: form), .atom, form, isLoose: isLoose)
    }

    /// A value, to bind where it meets this expression.
    func bound<T: SQLValueConvertible>(_ value: T, ordered: Bool = false) -> SQL { Self.bound(value, form, ordered: ordered) }

    static func bound<T: SQLValueConvertible>(_ value: T, _ form: ValueProfile?, ordered: Bool = false) -> SQL {
        let isOrderedDecimal = ordered && SQLForm.isDecimal(T.self)
        if form == nil, !isOrderedDecimal { return "\(value)" }
        return "\(ProfiledValue(value, form, isOrderedDecimal: isOrderedDecimal))"
    }

    /// A value of a type that codes itself, as it is stored; nil where it is NULL. In generic code, the compiler may take the form
    /// for such types with a value that is stored as itself.
    static func stored(_ value: Value) -> (any SQLValueConvertible)? where Value: Encodable {
        if let own = value as? any SQLValueConvertible { return own.isSQLNull ? nil : own }
        do { return try ColumnEncoder.encode(value, []) } catch {
            let error = error as? DatabaseError ?? .invalidArgument("a \(Value.self) cannot be stored: \(error.jsonDescription)")
            return RefusedValue(error)
        }
    }
}
