import CSQLCipher

/// The conversion of stored values from one form into another in a statement: the second argument of a function that every
/// connection has, `sqlcipherkit_form(value, ?)`. SQL cannot make this argument (<https://sqlite.org/bindptr.html>), so only
/// queries that this package writes can call it.
package final class StoredConversion: SQLValueConvertible {
    package static let function = "sqlcipherkit_form"

    private static let kind: StaticString = "sqlcipherkit_form"
    private let convert: @Sendable (SQLValue, ValueProfile) throws -> SQLValue

    /// - Parameter convert: converts a value that is not NULL, with the connection's profile.
    package init(_ convert: @escaping @Sendable (SQLValue, ValueProfile) throws -> SQLValue) {
        self.convert = convert
    }

    package init?(sqlValue: SQLValue) { nil }
    package var sqlValue: SQLValue { .null }

    package func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        // SQLite releases it also if this call fails.
        let pointer = Unmanaged.passRetained(self).toOpaque()
        let kind = UnsafeRawPointer(Self.kind.utf8Start).assumingMemoryBound(to: CChar.self)
        try parameter.check(
            sqlite3_bind_pointer(parameter.handle, parameter.index, pointer, kind) { pointer in
                if let pointer { Unmanaged<StoredConversion>.fromOpaque(pointer).release() }
            })
    }

    static func define(_ connection: Connection) throws {
        let kind = UnsafeRawPointer(Self.kind.utf8Start).assumingMemoryBound(to: CChar.self)
        let item = SQLExtension(function: function, 2, [.deterministic, .directOnly]) { arguments, result, profile in
            guard let value = arguments.values?[1], let pointer = sqlite3_value_pointer(value, kind) else {
                throw DatabaseError.misuse("\(function) is for the queries of this package")
            }
            if try arguments.isNull(0) { return try result.set(SQLValue.null, profile) }
            let conversion = Unmanaged<StoredConversion>.fromOpaque(pointer).takeUnretainedValue()
            try result.set(try conversion.convert(try arguments.value(0), profile), profile)
        }
        try item.install(connection)
    }
}
