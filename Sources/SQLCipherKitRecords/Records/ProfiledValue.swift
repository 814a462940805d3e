import SQLCipherKitCore

/// A value that is bound with a profile other than the connection's, or refused if the profile would make it compare incorrectly.
struct ProfiledValue: SQLValueConvertible, _HidesValues {
    let value: any SQLValueConvertible
    /// The profile; nil for the connection's.
    let profile: ValueProfile?
    /// True if it is a decimal whose order matters, which text does not preserve.
    let isOrderedDecimal: Bool

    init(_ value: any SQLValueConvertible, _ profile: ValueProfile?, isOrderedDecimal: Bool = false) {
        self.value = value
        self.profile = profile
        self.isOrderedDecimal = isOrderedDecimal
    }

    init?(sqlValue: SQLValue) { nil }

    var sqlValue: SQLValue { get throws { try sqlValue(in: .standard) } }

    func sqlValue(in connection: ValueProfile) throws -> SQLValue { try value.sqlValue(in: used(connection)) }

    func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try Statement._Parameter(parameter.handle, parameter.index, used(parameter.profile)).put(value)
    }

    private func used(_ connection: ValueProfile) throws -> ValueProfile {
        let used = ValueProfile.resolved(profile, connection)
        if isOrderedDecimal, used.decimals == .text {
            throw DatabaseError.misuse(
                "decimals that are stored as text have no order in SQL: '9' comes after '10'; store them as numbers"
            )
        }
        return used
    }
}
