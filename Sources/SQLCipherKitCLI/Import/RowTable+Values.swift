import SQLCipherKit

extension RowTable {
    /// Whether the column can hold the value unchanged.
    /// - Parameter index: the value's place in its record.
    func fits(_ value: ImportValue, _ index: Int, _ place: Int, _ line: Int) throws -> Bool {
        let type = columns[place].type, isEmpty = columns[place].isEmpty
        let forms: ValueForms
        switch value {
        case .null:
            if keyPlaces.contains(place) { throw Failure("\(columns[place].name) is empty, and is part of the key") }
            return true
        case .field(let text):
            if type == .text && !isEmpty { return true }
            forms = .of(field: text, strict: plan.isStrict)
            if forms == .text { noteText(text, place, line) }
            if columns[place].isFixed { try requireDigits(text, columns[place]) }
        case .value(let value): forms = .of(value)
        }
        self.forms[index] = forms
        if columns[place].isFixed || !isMade { return true }
        if isEmpty {
            columns[place].isEmpty = false
            return ColumnType(forms, keepsNumbersApart: keepsNumbersApart, isByValue: isByValue) == type
        }
        if type == .text { return forms == .text || !keepsNumbersApart }
        if isByValue, type == .real, forms == .integer { return true }
        return type.forms.union(.reshaped).isSuperset(of: type == .real ? forms : forms.subtracting(.long))
            || keepsNumbersApart && type == .numeric && forms == .wholeReal
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
    func stored(_ value: ImportValue, _ index: Int, _ type: ColumnType) -> SQLValue {
        switch value {
        case .null: return .null
        case .value(let value): return value
        case .field(let text):
            // A column without a type, or of numbers, gets a number if the field is one; SQLite converts the rest.
            if type == .text || forms[index].contains(.text) { return .text(text) }
            if forms[index].contains(.integer) { return Int64(text).map { .integer($0) } ?? .text(text) }
            return Double(text).map { .real($0) } ?? .text(text)
        }
    }
}
