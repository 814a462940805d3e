import SQLCipherKitCore

/// The expressions of a `SELECT` or a `RETURNING`.
struct SelectedColumns {
    private(set) var parts: [SQL] = []
    private(set) var forms: [(type: any Any.Type, profile: ValueProfile?)] = []

    init() {}

    init<Value>(_ expression: SQLExpression<Value>) { append(expression) }

    mutating func append<Value>(_ expression: SQLExpression<Value>) {
        parts.append(expression.sql)
        forms.append((Value.self, expression.form))
    }

    var list: SQL { "\(list: parts)" }
}

extension Row {
    /// The first column as a type that codes itself.
    func coded<Value: Decodable>() throws -> Value {
        var columns = SQLColumnReader(self)
        return try columns.next(Value.self)
    }
}
