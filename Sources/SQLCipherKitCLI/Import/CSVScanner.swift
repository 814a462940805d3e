/// The form in which a CSV file is written.
struct CSVDialect: Equatable {
    var delimiter = UInt8(ascii: ",")
    /// The quote around a field that contains delimiters or line ends, doubled inside the field; nil if there is none.
    var quote: UInt8? = UInt8(ascii: "\"")
    var lineEnd: UInt8 = 0x0a
    var hasHeader = true
    /// The byte that begins a line which is no record.
    var comment: UInt8?
    /// The byte that makes the next one an ordinary one, or `n`, `t`, `r` and `0` a line feed, a tab, a carriage return and NUL.
    var escape: UInt8?
    /// True if quotes that do not fit are ordinary characters.
    var isLenient = false
    /// The number of lines before the first record that are no records.
    var skippedLines = 0
    /// True if blanks and tabs in a row are one delimiter, and none at the ends of a line.
    var mergesBlanks = false
    /// True if blanks before a field are no part of it.
    var skipsBlanks = false
    /// The content of the column that each record has beyond the line of names.
    var surplus: Surplus?

    /// A column without a name: row names before the others, as R writes them, or nothing after a last delimiter.
    enum Surplus { case rowNames, nothing }
}

/// A record of CSV: the bytes of its fields, one after the other.
struct CSVRecord {
    fileprivate(set) var bytes: [UInt8] = []
    /// Where each field ends, whether it was in quotes, and whether it is the `\N` of a file with escapes.
    fileprivate(set) var fields: [(end: Int, isQuoted: Bool, isNull: Bool)] = []

    var count: Int { fields.count }

    func place(_ index: Int) -> Range<Int> { (index == 0 ? 0 : fields[index - 1].end)..<fields[index].end }

    func field(_ index: Int) -> ArraySlice<UInt8> { bytes[place(index)] }

    /// Replaces the bytes of each field.
    mutating func convert(_ body: (ArraySlice<UInt8>) throws -> String) rethrows {
        var converted: [UInt8] = []
        var ends: [Int] = []
        for index in fields.indices {
            converted += try body(field(index)).utf8
            ends.append(converted.count)
        }
        bytes = converted
        for index in fields.indices { fields[index].end = ends[index] }
    }

    fileprivate mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }
}

/// Parses CSV (RFC 4180 and its variants): a file may be larger than memory, and an import must know the byte at which to continue.
struct CSVScanner {
    /// The most columns that a table can have (<https://sqlite.org/limits.html#max_column>).
    static let mostColumns = 2000

    let bytes: InputReader
    let dialect: CSVDialect
    private let mostFields: Int
    /// The line on which the last record began, counted from 1.
    private(set) var line = 0
    private(set) var nextLine = 1
    /// The number of comments left out.
    private(set) var comments = 0
    private let stops: ByteSet
    private let quotedStops: ByteSet

    /// - Parameter mostFields: how many fields a record may have: more are not kept, but an error. Default: what a table can have.
    init(_ bytes: InputReader, _ dialect: CSVDialect, mostFields: Int = CSVScanner.mostColumns) {
        (self.bytes, self.dialect, self.mostFields) = (bytes, dialect, mostFields)
        let special = [dialect.quote, dialect.escape].compactMap(\.self)
        stops = ByteSet([dialect.lineEnd, dialect.delimiter, 0x0d] + special + (dialect.mergesBlanks ? [0x09] : []))
        quotedStops = ByteSet([dialect.lineEnd] + special)
    }

    mutating func resume(at offset: Int, line: Int) throws {
        try bytes.seek(to: offset)
        nextLine = line
    }

    /// Leaves out lines that are no records.
    mutating func skipLines(_ count: Int) throws {
        for _ in 0..<count { try skipLine() }
    }

    private mutating func skipLine() throws {
        while let byte = try bytes.next() {
            guard byte == dialect.lineEnd else { continue }
            nextLine += 1
            return
        }
    }

    private mutating func beginLine() throws {
        while let comment = dialect.comment, try bytes.peek() == comment {
            try skipLine()
            comments += 1
        }
        try skipBlanks()
        line = nextLine
    }

    private func skipBlanks() throws {
        guard dialect.skipsBlanks else { return }
        while try bytes.peek() == 0x20 { _ = try bytes.next() }
    }

    /// Reads the fields of the next line that is not empty.
    /// - Returns: false at the end.
    mutating func next(_ record: inout CSVRecord) throws -> Bool {
        record.removeAll()
        try beginLine()
        var start = 0, isQuoted = false, isNull = false
        func end(_ record: inout CSVRecord) throws {
            guard record.fields.count < mostFields else {
                throw Failure(
                    "it has more than \(mostFields.grouped) fields, and a table has no more columns: is the delimiter right?")
            }
            record.fields.append((record.bytes.count, isQuoted, isNull))
        }
        while true {
            try bytes.append(to: &record.bytes, until: stops)
            let byte = try bytes.next()
            switch byte {
            case dialect.lineEnd, nil:
                if byte != nil { nextLine += 1 }
                // An empty line is not a row of one empty field.
                if record.fields.isEmpty && record.bytes.isEmpty && !isQuoted && !isNull {
                    if byte == nil { return false }
                    try beginLine()
                    continue
                }
                try end(&record)
                return true
            case 0x20 where dialect.mergesBlanks, 0x09 where dialect.mergesBlanks:
                while let next = try bytes.peek(), next == 0x20 || next == 0x09 { _ = try bytes.next() }
                let next = try bytes.peek()
                let isAtStart = record.fields.isEmpty && record.bytes.isEmpty && !isQuoted
                if isAtStart || next == nil || next == dialect.lineEnd || next == 0x0d { continue }
                try end(&record)
                (start, isQuoted, isNull) = (record.bytes.count, false, false)
            case dialect.delimiter:
                try end(&record)
                (start, isQuoted, isNull) = (record.bytes.count, false, false)
                try skipBlanks()
            case 0x0d where dialect.lineEnd == 0x0a:
                // Some programs write several before the line feed.
                var count = 1
                while try bytes.peek() == 0x0d {
                    _ = try bytes.next()
                    count += 1
                }
                if try bytes.peek() != 0x0a { record.bytes += repeatElement(0x0d, count: count) }
            case let byte? where byte == dialect.quote:
                guard record.bytes.count == start, !isQuoted else {
                    guard dialect.isLenient else {
                        throw Failure(
                            "there is a quote in the middle of a field: use --quote lenient to take it as an ordinary character, "
                                + "or --quote none if all quotes are")
                    }
                    record.bytes.append(byte)
                    continue
                }
                isQuoted = true
                try readQuoted(byte, &record.bytes)
            case let byte? where byte == dialect.escape:
                if try record.bytes.count == start && bytes.peek() == UInt8(ascii: "N") {
                    _ = try bytes.next()
                    isNull = true
                } else {
                    try readEscaped(&record.bytes)
                }
            case let byte?: record.bytes.append(byte)
            }
        }
    }

    private mutating func readEscaped(_ field: inout [UInt8]) throws {
        guard let byte = try bytes.next() else { return }
        switch byte {
        case UInt8(ascii: "n"): field.append(0x0a)
        case UInt8(ascii: "t"): field.append(0x09)
        case UInt8(ascii: "r"): field.append(0x0d)
        case UInt8(ascii: "0"): field.append(0)
        default:
            if byte == dialect.lineEnd { nextLine += 1 }
            field.append(byte)
        }
    }

    private mutating func readQuoted(_ quote: UInt8, _ field: inout [UInt8]) throws {
        while true {
            try bytes.append(to: &field, until: quotedStops)
            guard let byte = try bytes.next() else { break }
            if byte == quote {
                switch try bytes.peek() {
                case quote?: _ = try bytes.next()
                case nil, dialect.delimiter?, 0x0a?, 0x0d?: return
                case 0x09? where dialect.mergesBlanks: return
                default:
                    guard dialect.isLenient else {
                        throw Failure(
                            "there is text between a closing quote and the next field: use --quote lenient to take the quote as an "
                                + "ordinary character, or --escape '\\' if a backslash is before such quotes")
                    }
                }
            } else if byte == dialect.escape {
                try readEscaped(&field)
                continue
            }
            if byte == dialect.lineEnd { nextLine += 1 }
            field.append(byte)
        }
        throw Failure("a quote is not closed")
    }
}
