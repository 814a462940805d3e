import Foundation
import SQLCipherKitCore

/// The form in which the values of a type are stored, as far as its declaration says.
enum SQLForm {
    /// In the same way under each ``ValueProfile``.
    case fixed
    /// By the profile: a `Date`, a `UUID`, a `Decimal`, or the program's own type that takes a profile.
    case profiled(any SQLValueConvertible.Type)
    /// As JSON.
    case document
    /// In the form that the type's own coding writes, which the stored values show.
    case coded(Coded)

    // A type never changes. Its conformance is not bound to an actor: ``SQLRecord`` is Sendable, and so are its properties.
    struct Coded: @unchecked Sendable {
        fileprivate let type: any Decodable.Type
    }

    private static let others = TypeMemo()

    static func of(_ type: any Any.Type) -> SQLForm {
        if others.contains(type) { return .fixed }
        let found = find(type)
        if case .fixed = found { others.add(type) }
        return found
    }

    private static func find(_ type: any Any.Type) -> SQLForm {
        var type = type
        while let optional = type as? any SQLNullable.Type { type = optional.wrapped }
        switch type {
        case is any FixedWidthInteger.Type, is any BinaryFloatingPoint.Type, is Bool.Type, is String.Type, is URL.Type,
            is Data.Type, is [UInt8].Type, is SQLValue.Type:
            return .fixed
        case let type as any RawRepresentable.Type: return raw(type)
        case let type as any SQLValueConvertible.Type: return type._isJSONDocument ? .document : .profiled(type)
        case is any JSONCollection.Type: return .document
        case let type as any Decodable.Type: return .coded(Coded(type: type))
        default: return .fixed
        }
    }

    /// An enumeration is stored as its raw values are, if it does not say otherwise.
    private static func raw<T: RawRepresentable>(_ type: T.Type) -> SQLForm {
        let raw = find(T.RawValue.self)
        if case .fixed = raw { return .fixed }
        return (type as? any SQLValueConvertible.Type).map { .profiled($0) } ?? raw
    }

    /// Returns whether the form of a type's values may depend on a profile.
    static func hasProfiles(_ type: any Any.Type) -> Bool {
        switch of(type) {
        case .fixed, .document: false
        case .profiled, .coded: true
        }
    }

    /// Returns whether a type's values are stored in the same way by two profiles, nil being the connection's.
    static func isSame(_ a: ValueProfile?, _ b: ValueProfile?, _ type: any Any.Type) -> Bool {
        if a == b { return true }
        switch of(type) {
        case .fixed, .document: return true
        case .coded: return false
        case .profiled(let stored):
            guard let a, let b, a.areInsideJSON == b.areInsideJSON else { return false }
            return switch stored {
            case is Date.Type: a.dates == b.dates
            case is UUID.Type: a.uuids == b.uuids
            case is Decimal.Type: a.decimals == b.decimals
            default: false
            }
        }
    }

    /// SQL for values of a type, so that equal values are equal in SQL: documents by their text, other values in one form. Nil if
    /// they can be compared as they are.
    /// - Parameter isSame: whether the other side of the comparison is stored in the same form.
    static func comparable(_ sql: SQL, _ type: any Any.Type, from own: ValueProfile?, isSame: Bool) -> SQL? {
        switch of(type) {
        case .fixed: nil
        case .document: "json(\(sql))"
        case .profiled: isSame ? nil : convert(sql, type, from: own, to: common(ordered: false))
        case .coded(let type): "\(raw: StoredConversion.function)(\(sql), \(conversion(type, own, common(ordered: false), true)))"
        }
    }

    /// A form in which any two values can be compared.
    static func common(ordered: Bool) -> ValueProfile {
        ValueProfile(dates: .realSeconds, uuids: .blob, decimals: ordered ? .number : .text)
    }

    /// SQL for values of a type that are stored in the form of one profile, in the form of another; nil is the connection's.
    static func convert(_ sql: SQL, _ type: any Any.Type, from own: ValueProfile?, to form: ValueProfile?) -> SQL {
        switch of(type) {
        case .fixed, .document: sql
        case .profiled(let type): "\(raw: StoredConversion.function)(\(sql), \(conversion(type, own, form)))"
        case .coded(let type): "\(raw: StoredConversion.function)(\(sql), \(conversion(type, own, form, false)))"
        }
    }

    private static func conversion<T: SQLValueConvertible>(
        _ type: T.Type, _ own: ValueProfile?, _ form: ValueProfile?
    ) -> StoredConversion {
        StoredConversion { value, connection in
            try converted(value, type, .resolved(own, connection), .resolved(form, connection))
        }
    }

    /// - Parameter isMinified: whether a document becomes its minified text.
    private static func conversion(
        _ coded: Coded, _ own: ValueProfile?, _ form: ValueProfile?, _ isMinified: Bool
    ) -> StoredConversion {
        StoredConversion { value, connection in
            let learnt = StoredForm(of: value, as: coded.type, .resolved(own, connection))
            if learnt.isDocument { return isMinified ? JSONBDecoder.minified(value).map { .text($0) } ?? value : value }
            guard let single = learnt.single, case .profiled = of(single) else { return value }
            return try converted(value, single, .resolved(own, connection), .resolved(form, connection))
        }
    }

    private static func converted<T: SQLValueConvertible>(
        _ value: SQLValue, _ type: T.Type, _ own: ValueProfile, _ form: ValueProfile
    ) throws -> SQLValue {
        guard let read = T(sqlValue: value, in: own) else {
            throw DatabaseError(
                code: .mismatch, reason: .typeMismatch,
                message: "\(value.storageClass.rawValue) that is not a \(T.self) is compared with values in another form")
        }
        return try read.sqlValue(in: form)
    }

    /// A parameter that is NULL, or an error where these are decimals that are stored as text, which has no order of numbers. Only
    /// the connection knows.
    static func orderCheck(_ type: any Any.Type, _ form: ValueProfile?) -> SQL? {
        guard isDecimal(type), form?.decimals != .number else { return nil }
        return "\(ProfiledValue(Decimal?.none, form, isOrderedDecimal: true))"
    }

    /// Returns whether it is decimals whose order matters.
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
        do { return try DocumentWithDates.encode(value) } catch {
            let error = error as? DatabaseError ?? .invalidArgument("a \(Value.self) cannot be stored: \(error.jsonDescription)")
            return RefusedValue(error)
        }
    }
}
