/// How a CSV file is written.
struct CSVDialect: Equatable {
    var delimiter = UInt8(ascii: ",")
    /// The quote around a field that contains delimiters or line ends, doubled inside the field; nil if there is none.
    var quote: UInt8? = UInt8(ascii: "\"")
    var lineEnd: UInt8 = 0x0a
    var hasHeader = true
}

/// A field of CSV.
struct CSVField {
    var bytes: [UInt8] = []
    var isQuoted = false
}

/// Parses CSV (RFC 4180 and its variants) byte by byte: a file may be larger than memory, and an import must know the byte at
/// which to continue.
struct CSVScanner {
    let bytes: ByteReader
    let dialect: CSVDialect
    /// The line on which the last record began, counted from 1.
    private(set) var line = 0
    private(set) var nextLine = 1

    init(_ bytes: ByteReader, _ dialect: CSVDialect) { (self.bytes, self.dialect) = (bytes, dialect) }

    mutating func resume(at offset: Int, line: Int) throws {
        try bytes.seek(to: offset)
        nextLine = line
    }

    /// The fields of the next line that is not empty.
    mutating func record() throws -> [CSVField]? {
        var record: [CSVField] = []
        var field = CSVField()
        line = nextLine
        while true {
            let byte = try bytes.next()
            switch byte {
            case dialect.lineEnd, nil:
                if byte != nil { nextLine += 1 }
                // An empty line is not a row of one empty field.
                if record.isEmpty && field.bytes.isEmpty && !field.isQuoted {
                    if byte == nil { return nil }
                    line = nextLine
                    continue
                }
                record.append(field)
                return record
            case dialect.delimiter:
                record.append(field)
                field = CSVField()
            case 0x0d where try dialect.lineEnd == 0x0a && bytes.peek() == 0x0a: continue
            case let byte? where byte == dialect.quote:
                guard field.bytes.isEmpty, !field.isQuoted else {
                    throw Failure(
                        "there is a quote in the middle of a field: quote the whole field and double the quotes in it, "
                            + "or use --quote none if quotes are ordinary characters")
                }
                try readQuoted(byte, &field)
            case let byte?: field.bytes.append(byte)
            }
        }
    }

    private mutating func readQuoted(_ quote: UInt8, _ field: inout CSVField) throws {
        field.isQuoted = true
        while let byte = try bytes.next() {
            if byte == quote {
                guard try bytes.peek() == quote else {
                    if let next = try bytes.peek(), next != dialect.delimiter, next != 0x0a, next != 0x0d {
                        throw Failure("there is text between a closing quote and the next field")
                    }
                    return
                }
                _ = try bytes.next()
            }
            if byte == dialect.lineEnd { nextLine += 1 }
            field.bytes.append(byte)
        }
        throw Failure("a quote is not closed")
    }
}
