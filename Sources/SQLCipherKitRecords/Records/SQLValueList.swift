import SQLCipherKitCore

/// The expressions that a statement returns, and how their values are read: each in the form in which its column stores it.
struct SQLValueList: Sendable {
    /// How one of them is stored.
    struct Form: Sendable {
        let type: any Any.Type
        let profile: ValueProfile?
    }

    let sql: SQL
    let forms: [Form]
    var isEmpty: Bool { forms.isEmpty }
    private let own: ColumnProfiles?

    init<each Value>(_ expressions: repeat SQLExpression<each Value>) {
        var list: [SQL] = [], forms: [Form] = []
        func append<Value>(_ expression: SQLExpression<Value>) {
            list.append(expression.sql)
            forms.append(Form(type: Value.self, profile: expression.form))
        }
        for expression in repeat each expressions { append(expression) }
        sql = "\(list: list)"
        self.forms = forms
        own = forms.contains { $0.profile != nil } ? ColumnProfiles(forms.map(\.profile)) : nil
    }

    /// Reads the values of a row.
    /// - Parameter first: the index of the first value's column.
    func read<each Value: SQLValueConvertible>(
        _ row: borrowing Row, from first: Int = 0
    ) throws(DatabaseError) -> (repeat each Value) {
        try row.values(from: first, own)
    }
}

extension Row {
    /// The first column as a type that codes itself.
    func coded<Value: Decodable>() throws -> Value {
        var columns = SQLColumnReader(self)
        return try columns.next(Value.self)
    }
}
