import SQLCipherKit

/// The columns of the records of an import, in the order of their first values, with what each must hold. All values together
/// decide the type of a column: those that have been read so far, until a later one makes it wider.
struct ImportColumns {
    struct Column {
        let name: String
        var type = ColumnType.text
        /// True if no value changes the type: the user has given it, or the table was not created by an import.
        var isFixed = false
        /// The forms of all values.
        fileprivate(set) var forms: ValueForms = []
        /// The line of the first value that is text but could have been a number.
        private var textLine: Int?

        init(_ name: String) { self.name = name }

        /// A column that exists. What its values were written as is not known.
        init(_ name: String, stored type: ColumnType, isFixed: Bool, _ rules: Rules) {
            (self.name, self.type) = (name, type)
            self.isFixed = isFixed || type == .any
            forms = switch type {
            case .text: .text
            case .any: [.text, .integer, .real]
            case .integer: [.integer, .long]
            case .real: [.real, rules.keepsNumbersApart ? .wholeReal : .reshaped]
            case .numeric: rules.keepsNumbersApart ? [.integer, .long, .real] : [.integer, .long, .real, .reshaped]
            }
        }

        /// Takes a value into account.
        /// - Returns: the value's forms, and those of the values before it.
        @inline(__always)
        mutating func note(_ record: borrowing ImportRecord, _ index: Int, _ line: Int) -> (ValueForms, before: ValueForms) {
            let found: ValueForms, before = forms
            switch record.values[index] {
            case .null, .value(.null): return ([], before)
            case .field where type == .text && forms.contains(.text): return (.text, before)
            case .field(let place):
                found = record.bytes.withUnsafeBytes { .of(field: UnsafeRawBufferPointer(rebasing: $0[place])) }
                if found == .text, !forms.contains(.text), Double(record.text(place))?.isNaN == false { textLine = line }
            case .text: found = .text
            case .value(let value): found = .of(value)
            }
            forms.formUnion(found)
            return (found, before)
        }

        /// The column's name and type, and why it is text if it could have been numbers.
        var description: String {
            let reason = type == .text ? textLine.map { " (a number would change line \($0.grouped))" } : nil
            return "\(name) \(type.rawValue)\(reason ?? "")"
        }
    }

    /// The rules by which values decide a type.
    struct Rules {
        /// True if a column keeps texts and numbers apart, as JSON tells which is which.
        let keepsNumbersApart: Bool

        func type(of column: Column) -> ColumnType {
            column.isFixed ? column.type : ColumnType(column.forms, keepsNumbersApart: keepsNumbersApart)
        }
    }

    let rules: Rules
    /// The types that the user gives, by name.
    private let types: [[UInt8]: ColumnType]
    var list: [Column] = []
    private var places: [[UInt8]: Int] = [:]

    init(_ plan: RowPlan) { (rules, types) = (plan.rules, plan.types) }

    func place(of name: String) -> Int? { places[name.sqlName] }

    mutating func add(_ column: Column) {
        places[column.name.sqlName] = list.count
        list.append(column)
    }

    /// The place of a column, which is added if it is new.
    @discardableResult
    mutating func add(_ name: String) -> Int {
        if let place = place(of: name) { return place }
        var column = Column(name)
        if let type = types[name.sqlName] { (column.type, column.isFixed) = (type, true) }
        add(column)
        return list.count - 1
    }

    /// Takes the values of records into account.
    mutating func note(_ record: borrowing ImportRecord, _ line: Int) {
        for (index, name) in record.list.names.enumerated() {
            let place = add(name)
            if index < record.values.count { _ = list[place].note(record, index, line) }
        }
    }

    /// Decides the types, once all values that are known have been noted.
    mutating func decide() { for place in list.indices { list[place].type = rules.type(of: list[place]) } }
}
