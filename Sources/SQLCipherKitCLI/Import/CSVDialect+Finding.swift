/// The user's settings for a CSV file. A setting that is nil is detected.
struct CSVOptions {
    enum Ragged: String, CaseIterable { case error, pad, skip }

    var delimiter: UInt8?
    /// The quote around fields; nil if quotes are ordinary characters.
    var quote: UInt8? = UInt8(ascii: "\"")
    var hasHeader: Bool?
    /// The treatment of a record that has more or fewer fields than the first line.
    var ragged = Ragged.error
    /// True if every field is stored as text.
    var keepsText = false
    /// The number of lines to leave out before the first record.
    var skip = 0
    /// Fields without quotes that are NULL.
    var nulls: [[UInt8]] = []
}

extension CSVDialect {
    /// Detects the dialect that fits the beginning of a file best.
    /// - Parameters:
    ///   - sample: UTF-8.
    ///   - isWhole: whether the sample is the whole file: otherwise its last record may be cut off.
    ///   - usual: the delimiter that the file's name suggests.
    init(of sample: ArraySlice<UInt8>, isWhole: Bool, _ options: CSVOptions, usual: UInt8) throws {
        let end = Self.lineEnd(of: sample, options.delimiter), rest = sample.without(options.skip, linesEndingWith: end)
        let best = Reading.best(of: rest, isWhole, options, usual, end)
        if best.width <= 1, options.delimiter == nil {
            if options.skip == 0 { try Reading.requireOneColumn(rest, isWhole, options, usual, end) }
            try Reading.requireNoDelimiters(rest, isWhole, best.dialect)
        }
        self = best.dialect
    }

    /// A line feed, unless only carriage returns occur outside of quotes.
    private static func lineEnd(of sample: ArraySlice<UInt8>, _ delimiter: UInt8?) -> UInt8 {
        var isInQuotes = false, mayOpen = true, hasReturn = false
        for byte in sample {
            // In the middle of a field, a quote is an ordinary character. One after a closing quote opens the field again.
            let isQuote = byte == 0x22 && (isInQuotes || mayOpen)
            if isQuote { isInQuotes.toggle() }
            mayOpen = isQuote || byte == delimiter || ",;\t|\r\n".utf8.contains(byte)
            if byte == 0x0a && !isInQuotes { return 0x0a }
            if byte == 0x0d && !isInQuotes { hasReturn = true }
        }
        return hasReturn ? 0x0d : 0x0a
    }
}

extension ArraySlice<UInt8> {
    /// The bytes after a number of lines.
    fileprivate func without(_ count: Int, linesEndingWith end: UInt8) -> Self {
        (0..<count).reduce(self) { rest, _ in rest.isEmpty ? rest : rest.drop { $0 != end }.dropFirst() }
    }
}

/// The beginning of a file, read in one of the dialects.
private struct Reading {
    private(set) var dialect: CSVDialect
    /// True if several columns in the first line are sufficient evidence.
    private let isUsual: Bool
    private var records: [[CSVField]] = []
    private var isBroken = false
    private var hasStrayQuotes = false

    /// The reading that fits best.
    static func best(
        of sample: ArraySlice<UInt8>, _ isWhole: Bool, _ options: CSVOptions, _ usual: UInt8, _ lineEnd: UInt8
    ) -> Reading {
        let delimiters = options.delimiter.map { [$0] } ?? [usual] + ",;\t|".utf8.filter { $0 != usual }
        let readings = delimiters.map { delimiter in
            let isUsual = delimiter == delimiters[0] || options.ragged != .error
            let dialect = CSVDialect(delimiter: delimiter, quote: options.quote, lineEnd: lineEnd)
            return Reading(sample, isWhole: isWhole, isUsual: isUsual, dialect)
        }
        var found = readings.dropFirst().reduce(readings[0]) { $1.isBetter(than: $0) ? $1 : $0 }
        found.dialect.hasHeader = options.hasHeader ?? found.hasHeader
        return found
    }

    /// Throws if most records have another delimiter, though not all of them as often.
    static func requireNoDelimiters(_ sample: ArraySlice<UInt8>, _ isWhole: Bool, _ dialect: CSVDialect) throws {
        for (delimiter, name) in zip("\t;|".utf8, ["tab", "';'", "'|'"]) {
            var dialect = dialect
            dialect.delimiter = delimiter
            let other = Reading(sample, isWhole: isWhole, isUsual: false, dialect)
            let divided = other.records.map(\.count).filter { $0 > 1 }
            guard !other.isBroken, other.records.count > 2, divided.count * 2 > other.records.count, let least = divided.min(),
                let most = divided.max()
            else { continue }
            let counts = least == most
                ? "most of its lines have \(most.grouped)" : "its lines have \(least.grouped) to \(most.grouped)"
            throw Failure(
                "\(counts) fields with \(delimiter.nameOfDelimiter): use --delimiter \(name) --ragged pad, or --delimiter , "
                    + "if all of it is one column", status: .usage)
        }
    }

    /// Throws if the file has several columns once some lines at its beginning are left out.
    static func requireOneColumn(
        _ sample: ArraySlice<UInt8>, _ isWhole: Bool, _ options: CSVOptions, _ usual: UInt8, _ lineEnd: UInt8
    ) throws {
        for count in 1...20 {
            let rest = sample.without(count, linesEndingWith: lineEnd)
            if rest.isEmpty { return }
            let other = best(of: rest, isWhole, options, usual, lineEnd)
            guard other.width > 1, !other.isBroken, other.evenness == 1, other.records.count >= 3 else { continue }
            throw Failure(
                "its first \(count.counted("line")) \(count == 1 ? "has" : "have") no columns, and what follows has "
                    + "\(other.width.grouped): use --skip \(count), or --delimiter if all of it is one column", status: .usage)
        }
    }

    init(_ sample: ArraySlice<UInt8>, isWhole: Bool, isUsual: Bool, _ dialect: CSVDialect) {
        (self.dialect, self.isUsual) = (dialect, isUsual)
        // A sample is short, and the wrong delimiter may be in it any number of times.
        var scanner = CSVScanner(InputReader(Array(sample)), dialect, mostFields: .max)
        var record = CSVRecord()
        do {
            while records.count < 1000, try scanner.next(&record) {
                records.append(record.fields.indices.map { CSVField(record.field($0), record.fields[$0].isQuoted) })
            }
            if !isWhole, records.count > 1, records.count < 1000 { records.removeLast() }
        } catch {
            // A sample may end inside a quoted field.
            isBroken = isWhole || scanner.bytes.offset < sample.count
        }
        hasStrayQuotes = scanner.hasStrayQuotes
    }

    var width: Int { records.first?.count ?? 0 }
    /// The fraction of records that have as many fields as the first one.
    private var evenness: Double { Double(records.count { $0.count == width }) / Double(max(1, records.count)) }

    func isBetter(than other: Reading) -> Bool {
        // The quotes of a file that is wrong in one dialect are not explained by a single column with quotes in the middle.
        if isBroken != other.isBroken { return isBroken ? other.width <= 1 && other.hasStrayQuotes : width > 1 || !hasStrayQuotes }
        // Prefer several columns that all records have, then several that most have, then one column.
        if (width > 1) != (other.width > 1) {
            let (wide, narrow) = width > 1 ? (self, other) : (other, self)
            return (wide.isUsual || wide.evenness > 0.5 || narrow.evenness < 1) == (width > 1)
        }
        if evenness != other.evenness { return evenness > other.evenness }
        // Both fit: the commas of decimal fractions are not delimiters.
        guard other.width > 1, other.dialect.delimiter == UInt8(ascii: ",") else { return false }
        return other.delimitersAreDecimal && !delimitersAreDecimal
    }

    private var delimitersAreDecimal: Bool {
        records.allSatisfy { record in
            zip(record, record.dropFirst()).allSatisfy { left, right in
                !left.isQuoted && !right.isQuoted && left.bytes.last.map { (0x30...0x39).contains($0) } ?? false
                    && right.bytes.first.map { (0x30...0x39).contains($0) } ?? false
            }
        }
    }

    /// True if the first line has names. It has values if a column of numbers, dates and the like begins in it.
    private var hasHeader: Bool {
        guard let first = records.first else { return true }
        return !first.indices.contains { column in
            let values = records.dropFirst().compactMap { $0.indices.contains(column) ? $0[column] : nil }
            return first[column].looksLikeData && values.allSatisfy { $0.bytes.isEmpty || $0.looksLikeData }
        }
    }
}

/// A field of CSV.
private struct CSVField {
    let bytes: [UInt8]
    let isQuoted: Bool

    init(_ bytes: ArraySlice<UInt8>, _ isQuoted: Bool) { (self.bytes, self.isQuoted) = (Array(bytes), isQuoted) }

    /// True if the field consists of digits and the signs that numbers, dates and times have between them.
    var looksLikeData: Bool {
        !isQuoted && bytes.contains { (0x30...0x39).contains($0) }
            && bytes.allSatisfy { (0x30...0x39).contains($0) || "+-.,:/ TZeE%".utf8.contains($0) }
    }
}
