/// SQL text together with the values bound to it.
///
/// Write it as a literal. Interpolated values are bound, never inserted into the text:
/// ```swift
/// try db.execute("UPDATE note SET title = \(title) WHERE id IN \(ids)")
/// // UPDATE note SET title = ? WHERE id IN (?,?,?)
/// ```
/// An optional binds its value, or NULL for `nil`. An array or a set binds each of its values, and adds the parentheses of a list
/// if you leave them out: `IN \(ids)` and `IN (\(ids))` are the same.
///
/// `\(sql)` inserts another `SQL` with its values:
/// ```swift
/// let named: SQL = "title = \(title)"
/// try db.execute("DELETE FROM note WHERE NOT (\(named)) AND stars < \(3)")
/// ```
/// `\(identifier: name)` quotes a table's or column's name. `\(raw: text)` inserts text unchanged, and `SQL(raw: text)` takes a
/// whole statement from a variable: never use these two with untrusted text.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    // The text without a final `?`, which is only appended when the text is asked for: that way, a literal with one value at its
    // end is not copied to find its statement.
    @usableFromInline var head: String
    @usableFromInline var endsWithMark: Bool
    /// The values.
    public var arguments: StatementArguments

    /// The text, with a `?` for each bound value.
    public var text: String {
        get { endsWithMark ? head + "?" : head }
        set { (head, endsWithMark) = (newValue, false) }
    }

    /// SQL from a variable, used unchanged.
    /// - Parameters:
    ///   - text: the SQL. Never build it from untrusted text.
    ///   - arguments: the values for its parameters. Default: none.
    @inlinable
    public init(raw text: String, _ arguments: StatementArguments = []) {
        head = text
        endsWithMark = false
        self.arguments = arguments
    }

    @inlinable
    public init(stringLiteral text: String) {
        head = text
        endsWithMark = false
        arguments = []
    }

    @inlinable
    public init(stringInterpolation: StringInterpolation) {
        head = stringInterpolation.text
        endsWithMark = stringInterpolation.endsWithMark
        arguments = stringInterpolation.values
    }

    /// Appends SQL with its values.
    /// ```swift
    /// var sql: SQL = "SELECT * FROM note"
    /// if !title.isEmpty { sql.append(" WHERE title = \(title)") }
    /// ```
    public mutating func append(_ other: SQL) { self = "\(self)\(other)" }

    /// Appends SQL with its values.
    public static func += (sql: inout SQL, other: SQL) { sql.append(other) }

    /// Collects the text and the values of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        @usableFromInline var text = ""
        @usableFromInline var values: StatementArguments
        /// True if a `?` is still to be appended to the text.
        @usableFromInline var endsWithMark = false

        // The capacity still to be reserved: the first literal is not copied until something follows it.
        @usableFromInline var capacity: Int

        @inlinable
        public init(literalCapacity: Int, interpolationCount: Int) {
            capacity = literalCapacity + interpolationCount
            values = StatementArguments()
        }

        @inlinable
        public mutating func appendLiteral(_ literal: String) {
            if literal.isEmpty { return }
            if text.isEmpty, !endsWithMark { text = literal } else { append(literal) }
        }

        @usableFromInline
        mutating func append(_ more: String) {
            if capacity != 0 {
                text.reserveCapacity(capacity)
                capacity = 0
            }
            if endsWithMark {
                text += "?"
                endsWithMark = false
            }
            text += more
        }

        @inlinable
        mutating func appendMark() {
            if endsWithMark { append("") }
            endsWithMark = true
        }

        /// Binds a value.
        @inlinable
        public mutating func appendInterpolation(_ value: some SQLValueConvertible) {
            appendMark()
            values.append(value)
        }

        /// Binds a value, or NULL for `nil`.
        ///
        /// Without a parameter of optional type, the compiler warns that `\(optional)` prints a debug description.
        @inlinable
        @_documentation(visibility: private)
        public mutating func appendInterpolation<Value: SQLValueConvertible>(_ value: Value?) {
            appendMark()
            values.append(value)
        }

        /// Binds bytes as a blob.
        @inlinable
        public mutating func appendInterpolation(_ bytes: [UInt8]) {
            appendMark()
            values.append(bytes)
        }

        /// Writes an identifier, quoted.
        public mutating func appendInterpolation(identifier: String) { append(identifier.quotedSQLIdentifier) }

        /// Inserts text unchanged.
        public mutating func appendInterpolation(raw: String) { append(raw) }

        /// Inserts another piece of SQL with its values.
        public mutating func appendInterpolation(_ sql: SQL) {
            append(sql.text)
            values.append(sql.arguments)
        }
    }
}

extension String {
    /// The text as an SQL identifier, in double quotes, with double quotes inside it doubled
    /// (<https://sqlite.org/lang_keywords.html>).
    public var quotedSQLIdentifier: String {
        var quoted = "\""
        for character in unicodeScalars {
            quoted.unicodeScalars.append(character)
            if character == "\"" { quoted.unicodeScalars.append(character) }
        }
        return quoted + "\""
    }

    /// The text as an SQL string literal, in single quotes, with single quotes inside it doubled. For the few places where SQLite
    /// allows no parameter, such as a pragma's argument or a virtual table's option.
    package var quotedSQLLiteral: String {
        var quoted = "'"
        for character in unicodeScalars {
            quoted.unicodeScalars.append(character)
            if character == "'" { quoted.unicodeScalars.append(character) }
        }
        return quoted + "'"
    }
}

extension SQL.StringInterpolation {
    /// Binds each value of a list and writes the list in parentheses, as `IN` requires. If you have written `IN (` before it, that
    /// parenthesis is enough. An empty list is a subquery without rows, so that `IN` matches nothing and `NOT IN` everything.
    public mutating func appendInterpolation<T: SQLValueConvertible>(_ list: [T]) {
        appendList(list.count)
        for value in list { values.append(value) }
    }

    /// Binds each value of a set, like an array.
    public mutating func appendInterpolation<T: SQLValueConvertible>(_ set: Set<T>) {
        appendList(set.count)
        for value in set { values.append(value) }
    }

    private mutating func appendList(_ count: Int) {
        let isOpen = !endsWithMark && text.utf8.endsWithOpenIn
        let list = count == 0 ? "SELECT NULL WHERE 0" : String(repeating: "?,", count: count - 1) + "?"
        append(isOpen ? list : "(" + list + ")")
    }
}

extension String.UTF8View {
    /// True if the text ends with the word `IN` and an opening parenthesis. SQLite takes a list in two pairs of them for one value.
    fileprivate var endsWithOpenIn: Bool {
        func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }
        var rest = self[...]
        func skip(_ isSkipped: (UInt8) -> Bool) -> Bool {
            guard let last = rest.last, isSkipped(last) else { return false }
            rest = rest.dropLast()
            return true
        }
        while skip(isBlank) {}
        guard skip({ $0 == UInt8(ascii: "(") }) else { return false }
        while skip(isBlank) {}
        guard skip({ $0 | 0x20 == UInt8(ascii: "n") }), skip({ $0 | 0x20 == UInt8(ascii: "i") }) else { return false }
        // A longer word, such as JOIN or a name.
        return !skip { byte in
            (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "_$".utf8.contains(byte) || byte >= 0x80
        }
    }
}

extension Sequence<SQL> {
    /// Joins the parts and their values, with the separator between every two parts.
    /// ```swift
    /// let conditions: [SQL] = ["stars > \(3)", "title = \(title)"]
    /// try db.execute("DELETE FROM note WHERE \(conditions.joined(separator: " AND "))")
    /// ```
    /// - Parameter separator: the SQL between two parts. Default: empty.
    public func joined(separator: SQL = "") -> SQL {
        var joined: SQL = "", isFirst = true
        for part in self {
            if !isFirst { joined.append(separator) }
            joined.append(part)
            isFirst = false
        }
        return joined
    }
}
