/// Takes the place of a value that cannot be represented in SQL: using it throws. This way, functions that build SQL need not throw
/// themselves.
struct RefusedValue: SQLValueConvertible {
    let error: DatabaseError

    init(_ error: DatabaseError) { self.error = error }

    var sqlValue: SQLValue { get throws(DatabaseError) { throw error } }
    init?(sqlValue: SQLValue) { nil }
}
