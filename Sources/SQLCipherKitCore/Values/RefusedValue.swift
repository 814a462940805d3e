/// Takes the place of a value that cannot be represented in SQL: using it throws. This way, functions that build SQL need not throw
/// themselves.
package struct RefusedValue: SQLValueConvertible {
    let error: DatabaseError

    package init(_ error: DatabaseError) { self.error = error }

    package var sqlValue: SQLValue { get throws { throw error } }
    package init?(sqlValue: SQLValue) { nil }
}
