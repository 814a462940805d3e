import CSQLCipher

/// The values for a statement's parameters, by position or by name.
/// ```swift
/// try db.execute("INSERT INTO note(title, stars) VALUES (?, ?)", ["Plan", nil])
/// try db.execute("UPDATE note SET stars = :stars WHERE id = :id", ["stars": 5, ":id": 7])
/// ```
/// A name may be written with or without its `:`, `@` or `$`. Each parameter needs a value and each value needs a parameter;
/// anything else throws.
public struct StatementArguments: Sendable, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    // Values by position. A single one needs no array and is bound without a copy.
    @usableFromInline var single: any SQLValueConvertible
    @usableFromInline var several: [(any SQLValueConvertible)?]
    /// The number of values by position.
    @usableFromInline var count: Int
    @usableFromInline package var named: [(name: String, value: (any SQLValueConvertible)?)]

    @inlinable
    package init() { (single, several, count, named) = (NullArgument(), [], 0, []) }

    /// Values by position.
    @inlinable
    public init(_ values: [(any SQLValueConvertible)?]) {
        (several, count, named) = (values, values.count, [])
        single = NullArgument()
        if count == 1 {
            if let value = values[0] { single = value }
            several = []
        }
    }

    @inlinable
    @inline(__always)
    package mutating func append(_ value: some SQLValueConvertible) {
        if count == 0 { single = value } else { appendFurther(value) }
        count += 1
    }

    @usableFromInline
    mutating func appendFurther(_ value: any SQLValueConvertible) {
        if count == 1 {
            several.reserveCapacity(8)
            several.append(single)
        }
        several.append(value)
    }

    package mutating func append(_ more: StatementArguments) {
        for value in more.positional {
            if let value { append(value) } else { append(NullArgument()) }
        }
    }

    /// The values by position.
    var positional: [(any SQLValueConvertible)?] { count == 1 ? [single] : several }

    /// Values by name.
    public init(_ values: [String: (any SQLValueConvertible)?]) {
        self.init()
        named = values.map { (name: $0.key, value: $0.value) }
    }

    @inlinable
    public init(arrayLiteral values: (any SQLValueConvertible)?...) { self.init(values) }

    @inlinable
    public init(dictionaryLiteral values: (String, (any SQLValueConvertible)?)...) {
        self.init()
        named = values.map { (name: $0.0, value: $0.1) }
    }

    /// True if there are no values.
    @inlinable
    public var isEmpty: Bool { count == 0 && named.isEmpty }
}

/// NULL.
@usableFromInline
package struct NullArgument: SQLValueConvertible, CustomStringConvertible {
    @usableFromInline init() {}
    @usableFromInline package init?(sqlValue: SQLValue) { if case .null = sqlValue { self.init() } else { return nil } }
    @usableFromInline package var sqlValue: SQLValue { .null }
    @usableFromInline package var description: String { "NULL" }
}

extension Statement {
    /// Binds all parameters of the statement.
    /// - Throws: ``DatabaseError/Reason/parameters`` for missing, surplus or unknown parameters, or any error from a conversion.
    @usableFromInline
    package func bindAll(_ arguments: StatementArguments, _ handle: OpaquePointer) throws {
        if arguments.named.isEmpty {
            try expectParameters(arguments.count, handle)
            if arguments.count == 1 {
                let parameter = Statement._Parameter(handle, 1, connection.profile)
                if !arguments.single._tryBindSQL(to: parameter) { try arguments.single._bindSQL(to: parameter) }
            } else {
                // By index, because iterating would copy each value.
                for index in arguments.several.indices {
                    try bind(arguments.several[index], Int32(truncatingIfNeeded: index + 1), handle)
                }
            }
        } else {
            try bindNamed(arguments, handle)
        }
        if connection.configuration.errorsShowArguments { shownArguments = arguments }
    }

    /// Throws unless the statement has this number of parameters. Every way of binding positional values checks this.
    @inlinable
    @inline(__always)
    func expectParameters(_ count: Int, _ handle: OpaquePointer) throws {
        if Int(sqlcipherkit_sqlite3_bind_parameter_count(handle)) != count { throw wrongCount(count, handle) }
    }

    @usableFromInline
    @inline(never)
    func wrongCount(_ count: Int, _ handle: OpaquePointer) -> DatabaseError {
        let expected = Int(sqlite3_bind_parameter_count(handle))
        var message =
            "the statement has \(expected) parameter\(expected == 1 ? "" : "s") and got \(count) value\(count == 1 ? "" : "s")"
        if count < expected, let name = sqlite3_bind_parameter_name(handle, Int32(count + 1)) {
            message += "; the first one missing is \(String(cString: name))"
        }
        return DatabaseError(code: .range, reason: .parameters, message: message, sql: sql)
    }

    func bind(_ value: (any SQLValueConvertible)?, _ index: Int32, _ handle: OpaquePointer) throws {
        let parameter = Statement._Parameter(handle, index, connection.profile)
        if let value { try parameter.put(value) } else { try parameter.bindNull() }
    }

    private func bindNamed(_ arguments: StatementArguments, _ handle: OpaquePointer) throws {
        guard arguments.count == 0 else {
            throw DatabaseError(
                code: .misuse, reason: .parameters, message: "interpolated values and named ones cannot be mixed", sql: sql)
        }
        let names = parameterNames
        var bound = [Bool](repeating: false, count: names.count)
        for (name, value) in arguments.named {
            let bare = name.withoutParameterSign
            // The SQL may contain the same bare name with two signs: both match, unless the caller gave a sign.
            let matches = names.indices.filter { index in
                guard let known = names[index] else { return false }
                return known.isSameText(as: name) || (bare.isSameText(as: name) && known.withoutParameterSign.isSameText(as: bare))
            }
            guard !matches.isEmpty else {
                let known = names.compactMap { $0 }.joined(separator: ", ")
                throw DatabaseError(
                    code: .range, reason: .parameters,
                    message: "the statement has no parameter \(name)" + (known.isEmpty ? "" : "; it has \(known)"), sql: sql)
            }
            for index in matches {
                guard !bound[index] else {
                    throw DatabaseError(
                        code: .range, reason: .parameters, message: "the parameter \(name) got two values", sql: sql)
                }
                bound[index] = true
                try bind(value, Int32(index + 1), handle)
            }
        }
        // `?7` creates seven parameters, of which six do not occur in the text and need no value.
        let hasGaps = names.contains { $0?.hasTextPrefix("?") == true }
        if let missing = bound.indices.first(where: { !bound[$0] && !(names[$0] == nil && hasGaps) }) {
            throw DatabaseError(
                code: .range, reason: .parameters, message: "no value for the parameter \(names[missing] ?? "?\(missing + 1)")",
                sql: sql)
        }
    }
}

extension String {
    fileprivate var withoutParameterSign: String {
        guard let first = utf8.first, [UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"), UInt8(ascii: "?")].contains(first)
        else { return self }
        // Drops bytes, not characters: a combining mark after the sign is part of the name.
        return String(decoding: utf8.dropFirst(), as: UTF8.self)
    }
}
