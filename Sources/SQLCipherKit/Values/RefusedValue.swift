/// Stands in SQL for what cannot be written: using it throws. So what makes a piece of SQL need not throw itself.
struct RefusedValue: SQLValueConvertible {
    let error: DatabaseError

    init(_ error: DatabaseError) { self.error = error }

    var sqlValue: SQLValue { get throws(DatabaseError) { throw error } }
    init?(sqlValue: SQLValue) { nil }
}
