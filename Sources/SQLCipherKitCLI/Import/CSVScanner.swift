/// The form in which a CSV file is written.
struct CSVDialect: Equatable {
    var delimiter = UInt8(ascii: ",")
    /// The quote around a field that contains delimiters or line ends, doubled inside the field; nil if there is none.
    var quote: UInt8? = UInt8(ascii: "\"")
    var lineEnd: UInt8 = 0x0a
    var hasHeader = true
}

/// A record of CSV: the bytes of its fields, one after the other.
struct CSVRecord {
    fileprivate(set) var bytes: [UInt8] = []
    /// Where each field ends, and whether it was in quotes.
    fileprivate(set) var fields: [(end: Int, isQuoted: Bool)] = []

    var count: Int { fields.count }

    func place(_ index: Int) -> Range<Int> { (index == 0 ? 0 : fields[index - 1].end)..<fields[index].end }

    func field(_ index: Int) -> ArraySlice<UInt8> { bytes[place(index)] }

    fileprivate mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }
}

/// Parses CSV (RFC 4180, with any delimiter). A file may be larger than memory, and an import must know the byte at which to go on.
struct CSVScanner {
    /// The most columns that a table can have (<https://sqlite.org/limits.html#max_column>).
    static let mostColumns = 2000

    let bytes: InputReader
    let dialect: CSVDialect
    private let mostFields: Int
    /// The line on which the last record began, counted from 1.
    private(set) var line = 0
    private(set) var nextLine = 1
    /// True if a quote was an ordinary character in the middle of a field.
    private(set) var hasStrayQuotes = false
    /// True if an empty line is a record with one empty field.
    var keepsEmptyLines = false
    private let stops: ByteSet
    private let quotedStops: ByteSet

    /// - Parameter mostFields: how many fields a record may have: more are not kept, but an error. Default: what a table can have.
    init(_ bytes: InputReader, _ dialect: CSVDialect, mostFields: Int = CSVScanner.mostColumns) {
        (self.bytes, self.dialect, self.mostFields) = (bytes, dialect, mostFields)
        let quotes = dialect.quote.map { [$0] } ?? []
        stops = ByteSet([dialect.lineEnd, dialect.delimiter, 0x0d] + quotes)
        quotedStops = ByteSet([dialect.lineEnd] + quotes)
    }

    mutating func resume(at offset: Int, line: Int) throws {
        try bytes.seek(to: offset)
        nextLine = line
    }

    /// Leaves out lines that are no records.
    mutating func skipLines(_ count: Int) throws {
        for _ in 0..<count {
            while let byte = try bytes.next(), byte != dialect.lineEnd {}
            nextLine += 1
        }
    }

    /// Reads the fields of the next line that is not empty.
    /// - Returns: false at the end.
    mutating func next(_ record: inout CSVRecord) throws -> Bool {
        record.removeAll()
        line = nextLine
        var start = 0, isQuoted = false
        func end(_ record: inout CSVRecord) throws {
            guard record.fields.count < mostFields else {
                throw Failure(
                    "it has more than \(mostFields.grouped) fields, and a table has no more columns: is the delimiter right?")
            }
            record.fields.append((record.bytes.count, isQuoted))
        }
        while true {
            try bytes.append(to: &record.bytes, until: stops)
            let byte = try bytes.next()
            switch byte {
            case dialect.lineEnd, nil:
                if byte != nil { nextLine += 1 }
                // In a file of several columns, an empty line is not a row.
                if record.fields.isEmpty, record.bytes.isEmpty, !isQuoted, byte == nil || !keepsEmptyLines {
                    if byte == nil { return false }
                    line = nextLine
                    continue
                }
                try end(&record)
                return true
            case dialect.delimiter:
                try end(&record)
                (start, isQuoted) = (record.bytes.count, false)
            case 0x0d where dialect.lineEnd == 0x0a:
                // Some programs write several before the line feed.
                var count = 1
                while try bytes.peek() == 0x0d {
                    _ = try bytes.next()
                    count += 1
                }
                if try bytes.peek() != 0x0a { record.bytes += repeatElement(0x0d, count: count) }
            // In the middle of a field, a quote is an ordinary character, as to SQLite's shell.
            case let byte? where byte == dialect.quote && record.bytes.count == start && !isQuoted:
                isQuoted = true
                try readQuoted(byte, &record.bytes)
            case let byte?:
                if byte == dialect.quote { hasStrayQuotes = true }
                record.bytes.append(byte)
            }
        }
    }

    private mutating func readQuoted(_ quote: UInt8, _ field: inout [UInt8]) throws {
        while true {
            try bytes.append(to: &field, until: quotedStops)
            guard let byte = try bytes.next() else { throw Failure("a quote is not closed") }
            if byte == quote {
                switch try bytes.peek() {
                case quote?: _ = try bytes.next()
                case nil, dialect.delimiter?, 0x0a?, 0x0d?: return
                default:
                    throw Failure(
                        "there is text between a closing quote and the next field: --quote none takes all quotes as ordinary "
                            + "characters")
                }
            }
            if byte == dialect.lineEnd { nextLine += 1 }
            field.append(byte)
        }
    }
}
