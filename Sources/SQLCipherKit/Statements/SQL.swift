/// SQL text together with the values bound to it.
///
/// Written as a literal; what is interpolated is bound, never pasted into the text:
/// ```swift
/// try db.execute("UPDATE note SET title = \(title) WHERE id IN \(ids)")
/// // UPDATE note SET title = ? WHERE id IN (?,?,?)
/// ```
/// `\(identifier: name)` quotes a table's or column's name, `\(raw: text)` splices text in on purpose, and
/// `SQL(raw: text)` takes a whole statement from a variable: untrusted text does not belong there.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    // The text, up to a `?` that ends it: that one is only written where the text is asked for, so that a literal with one value at
    // its end is not copied to find its statement.
    @usableFromInline var head: String
    @usableFromInline var endsWithMark: Bool
    /// The values.
    public var arguments: StatementArguments

    /// The text, with a `?` for each bound value.
    public var text: String {
        get { endsWithMark ? head + "?" : head }
        set { (head, endsWithMark) = (newValue, false) }
    }

    /// SQL from a variable, as it is.
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

    /// Collects the text and the values of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        @usableFromInline var text = ""
        @usableFromInline var values: StatementArguments
        /// Whether a `?` is still to be written behind the text.
        @usableFromInline var endsWithMark = false

        // What the text still needs room for: the first literal is not copied before something follows it.
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

        /// Binds bytes as a blob.
        @inlinable
        public mutating func appendInterpolation(_ bytes: [UInt8]) {
            appendMark()
            values.append(bytes)
        }

        /// Binds each value of a list and writes the list, in parentheses, as `IN` wants it. An empty list is `(NULL)`
        /// of no row, so that `IN` finds nothing and `NOT IN` everything.
        public mutating func appendInterpolation<T: SQLValueConvertible>(_ list: [T]) {
            guard !list.isEmpty else {
                append("(SELECT NULL WHERE 0)")
                return
            }
            append("(" + String(repeating: "?,", count: list.count - 1) + "?)")
            for value in list { values.append(value) }
        }

        /// Writes an identifier, quoted.
        public mutating func appendInterpolation(identifier: String) { append(identifier.quotedSQLIdentifier) }

        /// Splices text in as it is.
        public mutating func appendInterpolation(raw: String) { append(raw) }

        /// Puts in another piece of SQL with its values.
        public mutating func appendInterpolation(_ sql: SQL) {
            append(sql.text)
            values.append(sql.arguments)
        }
    }
}

extension String {
    /// The text as an SQL identifier: in double quotes, those inside doubled
    /// (<https://sqlite.org/lang_keywords.html>).
    public var quotedSQLIdentifier: String {
        var quoted = "\""
        for character in unicodeScalars {
            quoted.unicodeScalars.append(character)
            if character == "\"" { quoted.unicodeScalars.append(character) }
        }
        return quoted + "\""
    }

    /// The text as an SQL string literal: in single quotes, those inside doubled. For the few places, such as a pragma's
    /// argument or a virtual table's option, where SQLite allows no parameter.
    var quotedSQLLiteral: String {
        var quoted = "'"
        for character in unicodeScalars {
            quoted.unicodeScalars.append(character)
            if character == "'" { quoted.unicodeScalars.append(character) }
        }
        return quoted + "'"
    }
}
