import SQLCipherKitCore

/// Functions of text, NULL where the text is (<https://sqlite.org/lang_corefunc.html>). Characters are Unicode scalars, and only ASCII letters have a
/// case, as always in SQLite. A NUL character ends the text for `length` and `prefix`.
extension SQLExpression where Value: SQLValueConvertible, Value._Plain == String {
    /// In small letters.
    public var lowercased: Self { call("lower", sql) }
    /// In capitals.
    public var uppercased: Self { call("upper", sql) }
    /// Without spaces at both ends.
    public var trimmed: Self { call("trim", sql) }

    /// The first characters. A negative count is an error when the query runs.
    public func prefix(_ count: Int) -> Self {
        guard count >= 0 else { return Self("\(RefusedValue(.invalidArgument("a prefix of \(count) characters")))", .atom) }
        return call("substr", "\(sql), 1, \(count)")
    }

    /// Every place of one text replaced by another. A text that begins with a NUL character is an error, because SQLite would
    /// replace nothing.
    public func replacing(_ text: String, with other: String) -> Self {
        let isCut = text.utf8.first == 0
        let place: SQL = isCut ? "\(RefusedValue(.invalidArgument("the text to replace begins with a NUL character")))" : "\(text)"
        return call("replace", "\(sql), \(place), \(other)")
    }
}

extension SQLExpression where Value == String {
    /// The number of characters.
    public var length: SQLExpression<Int> { call("length", sql) }
}

extension SQLExpression where Value == String? {
    /// The number of characters; NULL where the text is.
    @_documentation(visibility: private)
    public var length: SQLExpression<Int?> { call("length", sql) }
}

/// Functions of numbers.
extension SQLExpression where Value: SQLNumber {
    /// Without its sign. Of the least `Int64` it is an error.
    public var magnitude: Self { call("abs", sql) }

    /// Rounded to so many digits after the point, half away from zero. Default: to none.
    public func rounded(_ digits: Int = 0) -> Self where Value._Plain == Double {
        call("round", "\(sql), \(digits)")
    }
}

extension SQLExpression {
    private func call<T>(_ name: String, _ arguments: SQL) -> SQLExpression<T> {
        SQLExpression<T>("\(raw: name)(\(arguments))", .atom, isLoose: isLoose)
    }
}
