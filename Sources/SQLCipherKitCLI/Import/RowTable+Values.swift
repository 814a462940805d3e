import SQLCipherKit

extension RowTable {
    /// Whether the column can hold the value unchanged.
    func fits(_ value: ImportValue, _ place: Int, _ line: Int) throws -> Bool {
        let column = columns[place]
        let forms: ValueForms
        switch value {
        case .null:
            if keyPlaces.contains(place) { throw Failure("\(column.name) is empty, and is part of the key") }
            return true
        case .field(let text):
            if column.type == .text && !column.isEmpty { return true }
            forms = .of(field: text, strict: plan.isStrict)
            if forms == .text { noteText(text, place, line) }
            if column.isFixed { try requireDigits(text, column) }
        case .value(let value): forms = .of(value)
        }
        if column.isFixed || !isMade { return true }
        defer { columns[place].isEmpty = false }
        if column.isEmpty { return ColumnType(forms, keepsNumbersApart: keepsNumbersApart, isByValue: isByValue) == column.type }
        if column.type == .text { return forms == .text || !keepsNumbersApart }
        if isByValue, column.type == .real, forms == .integer { return true }
        return column.type.forms.union(.reshaped).isSuperset(of: column.type == .real ? forms : forms.subtracting(.long))
            || keepsNumbersApart && column.type == .numeric && forms == .wholeReal
    }

    func noteText(_ text: String, _ place: Int, _ line: Int) {
        if columns[place].textLine == nil, Double(text) != nil { columns[place].textLine = line }
    }

    /// A column that the user declares as numbers may drop zeros, but no other digit.
    private func requireDigits(_ text: String, _ column: Column) throws {
        guard isMade, column.type != .text, column.type != .any, Int64(text) == nil, Double(text) != nil else { return }
        // All of its digits may be those of the number nearest to it.
        guard ValueForms.of(field: text) == .text else { return }
        let digits = text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }
        let significant = text.contains(".") ? String(digits.reversed().drop { $0 == "0" }) : String(digits)
        if significant.count > 15 {
            throw Failure("\(column.name) has more digits than a number holds: use --types \(column.name)=text")
        }
    }

    /// The value to bind.
    func stored(_ value: ImportValue, _ column: Column) -> SQLValue {
        switch value {
        case .null: return .null
        case .value(let value): return value
        case .field(let text):
            // A column without a type, or of numbers, gets a number if the field is one; SQLite converts the rest.
            if column.type == .text { return .text(text) }
            let forms = ValueForms.of(field: text, strict: plan.isStrict)
            if forms.contains(.integer) { return Int64(text).map { .integer($0) } ?? .text(text) }
            if forms.contains(.text) { return .text(text) }
            return Double(text).map { .real($0) } ?? .text(text)
        }
    }
}
