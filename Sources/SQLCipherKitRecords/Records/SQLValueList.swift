import SQLCipherKitCore

/// The expressions that a statement returns, and how their values are read: each in the form in which its column stores it.
struct SQLValueList: Sendable {
    /// The form in which a value of the list is stored.
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
        func append<T>(_ expression: SQLExpression<T>) {
            list.append(expression.sql)
            forms.append(Form(type: T.self, profile: expression.form))
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
    ) throws -> (repeat each Value) {
        try row.values(from: first, own)
    }

    /// Reads the first value of a row, of a type that codes itself.
    func readCoded<Value: Decodable>(_ row: borrowing Row) throws -> Value {
        let state = row.names.decoding, former = (state.row.pointee, state.own)
        (state.row.pointee, state.own) = (row.handle, own?.pointers)
        defer { (state.row.pointee, state.own) = former }
        let key = ColumnKey(Row._Column(row.handle, 0).name)
        do { return try ColumnDecoder(state: state, index: 0, codingPath: [key]).any(Value.self) } catch {
            throw state.error(error, Value.self)
        }
    }
}
