import SQLCipherKit

extension RowTable {
    /// Whether the column can hold the value unchanged.
    /// - Parameter index: the value's place in its record.
    func fits(_ record: ImportRecord, _ index: Int, _ place: Int, _ line: Int) throws -> Bool {
        let type = columns[place].type, isEmpty = columns[place].isEmpty
        let forms: ValueForms
        switch record.values[index] {
        case .null, .value(.null):
            if keyPlaces.contains(place) { throw Failure("\(columns[place].name) is empty, and is part of the key") }
            return true
        case .field(let bytes):
            if type == .text && !isEmpty { return true }
            forms = record.forms(of: record.values[index], strict: plan.isStrict)
            if forms == .text { noteText(record.text(bytes), place, line) }
            if columns[place].isFixed { try requireDigits(record.text(bytes), columns[place]) }
        case .text:
            if type == .text && !isEmpty { return true }
            forms = .text
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

    /// The value to bind for a field with these forms.
    static func stored(_ field: UnsafeRawBufferPointer, _ forms: ValueForms, _ type: ColumnType) -> LentValue {
        // A column without a type, or of numbers, gets a number if the field is one; SQLite converts the rest.
        if type == .text || forms.contains(.text) { return .text(field) }
        if forms.contains(.integer) { return integer(field).map { .integer($0) } ?? .text(field) }
        return Double(String(decoding: field, as: UTF8.self)).map { .real($0) } ?? .text(field)
    }

    private static func integer(_ field: UnsafeRawBufferPointer) -> Int64? {
        guard field.count < 19 else { return Int64(String(decoding: field, as: UTF8.self)) }
        let isNegative = field.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in field[(isNegative ? 1 : 0)...] { value = value &* 10 &+ Int64(byte &- 0x30) }
        return isNegative ? -value : value
    }
}
