/// The user's settings for a CSV file. A setting that is nil is detected.
struct CSVOptions {
    enum Quote { case none, lenient, byte(UInt8) }
    enum Ragged: String, CaseIterable { case error, pad, skip }

    var delimiter: UInt8?
    /// True if any number of blanks is the delimiter.
    var mergesBlanks = false
    var quote: Quote?
    var hasHeader: Bool?
    /// The treatment of a record that has more or fewer fields than the first line.
    var ragged = Ragged.error
    /// True if every field is stored as text.
    var keepsText = false
    /// The number of lines to leave out before the first record; nil is detected.
    var skip: Int?
    var comment: UInt8?
    var escape: UInt8?
    /// Fields without quotes that are NULL.
    var nulls: [[UInt8]] = []
    /// True if columns get other names where several have the same.
    var renames = false
}

extension CSVDialect {
    /// Detects the dialect that fits the beginning of a file best.
    /// - Parameters:
    ///   - sample: UTF-8.
    ///   - isWhole: whether the sample is the whole file: otherwise its last record may be cut off.
    ///   - usual: the delimiter that the file's name suggests.
    init(of sample: ArraySlice<UInt8>, isWhole: Bool, _ options: CSVOptions, usual: UInt8) throws {
        var options = options
        var lines = SampleLines(sample)
        // Excel's way to say what the delimiter is.
        if options.skip == nil, let delimiter = lines.excelDelimiter {
            options.delimiter = options.delimiter ?? delimiter
            lines.skip(1)
        }
        if let skip = options.skip { lines.skip(skip) }
        var best = Reading.best(of: lines, isWhole, options, usual)
        if options.skip == nil, options.comment == nil, lines.first == UInt8(ascii: "#") {
            // Comments before the names, unless the last of them has the names.
            let (count, withNames) = lines.comments
            var rest = lines
            rest.skip(count)
            // There may be more of them between the records.
            var commented = options
            commented.comment = UInt8(ascii: "#")
            let other = Reading.best(of: rest, isWhole, commented, usual)
            if count > 0, other.width > 1 || best.width <= 1 {
                // A comment may have as many commas as there are columns: then what follows it begins with names.
                let isClose = withNames.map { $0.count > 1 && $0[1] != 0x20 && $0[1] != 0x09 } ?? false
                var plain = other.dialect
                plain.comment = nil
                let isName = withNames.map { Reading($0, isWhole: true, isUsual: true, plain).width } == other.width
                    && (isClose || !other.dialect.hasHeader)
                rest = lines
                rest.skip(isName && other.width > 1 ? count - 1 : count)
                best = Reading.best(of: rest, isWhole, isName ? options : commented, usual)
                lines = rest
            }
        } else if best.width <= 1, options.skip == nil, options.delimiter == nil {
            try Reading.requireOneColumn(lines, isWhole, options, usual)
        }
        if best.width <= 1, options.delimiter == nil { try Reading.requireNoDelimiters(lines, isWhole, best.dialect) }
        self = best.dialect
        skippedLines = lines.skipped
        lineEnd = lines.lineEnd
    }
}

/// The beginning of a file, line by line.
private struct SampleLines {
    let bytes: [UInt8]
    let lineEnd: UInt8
    private(set) var skipped = 0
    private var start = 0

    init(_ sample: ArraySlice<UInt8>) {
        bytes = Array(sample)
        lineEnd = CSVDialect.lineEnd(of: bytes)
    }

    var rest: [UInt8] { Array(bytes[start...]) }
    var first: UInt8? { start < bytes.count ? bytes[start] : nil }

    mutating func skip(_ count: Int) {
        for _ in 0..<count where start < bytes.count {
            start = bytes[start...].firstIndex(of: lineEnd).map { $0 + 1 } ?? bytes.count
            skipped += 1
        }
    }

    private func line(at start: Int) -> ArraySlice<UInt8> {
        let end = bytes[start...].firstIndex(of: lineEnd) ?? bytes.count
        return bytes[start..<end].last == 0x0d ? bytes[start..<(end - 1)] : bytes[start..<end]
    }

    /// The delimiter of a first line such as `sep=;`.
    var excelDelimiter: UInt8? {
        var line = Array(line(at: start))
        if line.first == 0x22, line.last == 0x22, line.count > 2 { line = Array(line.dropFirst().dropLast()) }
        guard line.count == 5, line[..<4].map({ $0 | 0x20 }) == Array("sep=".utf8).map({ $0 | 0x20 }) else { return nil }
        return line[4]
    }

    /// The number of lines that begin with `#`, and the last of them.
    var comments: (count: Int, last: [UInt8]?) {
        var lines = self, count = 0, last: [UInt8]?
        while lines.first == UInt8(ascii: "#") {
            last = Array(lines.line(at: lines.start)) + [0x0a]
            lines.skip(1)
            count += 1
        }
        return (count, last)
    }
}

extension CSVDialect {
    /// A line feed, unless only carriage returns occur outside of quotes.
    fileprivate static func lineEnd(of sample: [UInt8]) -> UInt8 {
        var isInQuotes = false
        var hasReturn = false
        for byte in sample {
            if byte == 0x22 { isInQuotes.toggle() }
            if byte == 0x0a && !isInQuotes { return 0x0a }
            if byte == 0x0d && !isInQuotes { hasReturn = true }
        }
        return hasReturn ? 0x0d : 0x0a
    }
}

/// The beginning of a file, read in one of the dialects.
private struct Reading {
    private(set) var dialect: CSVDialect
    /// True if several columns in the first line are sufficient evidence.
    private let isUsual: Bool
    private var records: [[CSVField]] = []
    private var isBroken = false

    /// The reading that fits best.
    static func best(of lines: SampleLines, _ isWhole: Bool, _ options: CSVOptions, _ usual: UInt8) -> Reading {
        let sample = lines.rest
        let delimiters: [UInt8] = options.delimiter.map { [$0] } ?? [usual] + ",;\t|".utf8.filter { $0 != usual }
        let quotes: [UInt8?] = switch options.quote {
        case nil: [0x22, 0x27]
        case .some(.none): [nil]
        case .lenient: [0x22]
        case .byte(let byte): [byte]
        }
        var plain = CSVDialect()
        (plain.lineEnd, plain.comment, plain.escape) = (lines.lineEnd, options.comment, options.escape)
        if case .lenient? = options.quote { plain.isLenient = true }
        plain.mergesBlanks = options.mergesBlanks
        var best: Reading?
        for quote in quotes {
            for delimiter in delimiters {
                var dialect = plain
                (dialect.delimiter, dialect.quote) = (delimiter, quote)
                let isUsual = delimiter == delimiters[0] || options.ragged != .error
                var reading = Reading(sample, isWhole: isWhole, isUsual: isUsual, dialect)
                if reading.width > 1 || reading.isBroken, reading.isBroken || reading.hasBlanksBeforeFields {
                    dialect.skipsBlanks = true
                    let other = Reading(sample, isWhole: isWhole, isUsual: isUsual, dialect)
                    if !other.isBroken { reading = other }
                }
                if options.ragged != .error { reading.surplus = nil }
                // An apostrophe is a quote only if nothing else explains the file: quotes are not part of the text.
                if quote == 0x27, quotes.count > 1, let best, !reading.explainsMore(than: best) { continue }
                if best.map({ reading.isBetter(than: $0) }) ?? true { best = reading }
            }
        }
        var found = best ?? Reading(sample, isWhole: isWhole, isUsual: true, plain)
        if found.width <= 1, options.delimiter == nil {
            // Texts have blanks too: they are delimiters if they separate numbers.
            (plain.delimiter, plain.mergesBlanks, plain.quote) = (0x20, true, found.dialect.quote)
            let blanks = Reading(sample, isWhole: isWhole, isUsual: true, plain)
            if blanks.separatesNumbers { found = blanks }
        }
        found.dialect.hasHeader = options.hasHeader ?? (found.surplus != nil || found.hasHeader)
        if found.dialect.hasHeader { found.dialect.surplus = found.surplus }
        return found
    }

    /// Throws if most records have another delimiter, or numbers with blanks between them, though not all of them as often.
    static func requireNoDelimiters(_ lines: SampleLines, _ isWhole: Bool, _ dialect: CSVDialect) throws {
        for (delimiter, name) in zip("\t;| ".utf8, ["tab", "';'", "'|'", "blanks"]) {
            var dialect = dialect
            (dialect.delimiter, dialect.quote, dialect.mergesBlanks) = (delimiter, 0x22, delimiter == 0x20)
            let other = Reading(lines.rest, isWhole: isWhole, isUsual: false, dialect)
            let divided = other.records.filter { $0.count > 1 && (delimiter != 0x20 || $0.allSatisfy(\.isNumber)) }.map(\.count)
            guard !other.isBroken, other.records.count > 2, divided.count * 2 > other.records.count, let least = divided.min(),
                let most = divided.max()
            else { continue }
            let counts = least == most
                ? "most of its lines have \(most.grouped)" : "its lines have \(least.grouped) to \(most.grouped)"
            throw Failure(
                "\(counts) fields with \(delimiter == 0x20 ? "blanks" : delimiter.nameOfDelimiter): use --delimiter \(name) "
                    + "--ragged pad, or --delimiter , if all of it is one column", status: .usage)
        }
    }

    /// Throws if the file has several columns once some lines at its beginning are left out.
    static func requireOneColumn(_ lines: SampleLines, _ isWhole: Bool, _ options: CSVOptions, _ usual: UInt8) throws {
        var rest = lines
        for count in 1...20 {
            rest.skip(1)
            if rest.first == nil { return }
            let other = best(of: rest, isWhole, options, usual)
            guard other.width > 1, other.isEven, other.records.count >= 3 else { continue }
            throw Failure(
                "its first \(count.counted("line")) \(count == 1 ? "has" : "have") no columns, and what follows has "
                    + "\(other.width.grouped): use --skip \(count), or --delimiter if all of it is one column", status: .usage)
        }
    }

    init(_ sample: [UInt8], isWhole: Bool, isUsual: Bool, _ dialect: CSVDialect) {
        (self.dialect, self.isUsual) = (dialect, isUsual)
        // A sample is short, and the wrong delimiter may be in it any number of times.
        var scanner = CSVScanner(InputReader(sample), dialect, mostFields: .max)
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
        guard let names = records.first, names.count > 1, !names.contains(where: \.looksLikeData), records.count > 1,
            records.dropFirst().allSatisfy({ $0.count == names.count + 1 })
        else { return }
        surplus = records.dropFirst().allSatisfy { $0.last?.bytes.isEmpty ?? true } ? .nothing : .rowNames
    }

    var width: Int { (records.first?.count ?? 0) + (surplus == nil ? 0 : 1) }
    /// The fields that all records have beyond the names, which are at least two.
    private var surplus: CSVDialect.Surplus?
    /// The fraction of records that have as many fields as the first one.
    private var evenness: Double {
        surplus != nil ? 1 : Double(records.count { $0.count == width }) / Double(max(1, records.count))
    }
    private var isEven: Bool { !isBroken && evenness == 1 }
    private var hasQuoted: Bool { records.contains { $0.contains(where: \.isQuoted) } }

    func isBetter(than other: Reading) -> Bool {
        if isBroken != other.isBroken { return !isBroken }
        // Prefer several columns that all records have, then several that most have, then one column.
        if (width > 1) != (other.width > 1) {
            let wide = width > 1 ? self : other
            let narrow = width > 1 ? other : self
            return (wide.isUsual || wide.evenness > 0.5 || !narrow.isEven) == (width > 1)
        }
        if evenness != other.evenness { return evenness > other.evenness }
        if (surplus == nil) != (other.surplus == nil) { return surplus == nil }
        // Both fit: the commas of decimal fractions are not delimiters.
        guard other.width > 1, other.dialect.delimiter == UInt8(ascii: ",") else { return false }
        return other.delimitersAreDecimal && !delimitersAreDecimal
    }

    /// Returns whether this reading, with apostrophes as quotes, is even and the other is not, or has all of its fields quoted.
    func explainsMore(than other: Reading) -> Bool {
        guard isEven, hasQuoted else { return false }
        return !other.isEven || other.surplus != nil
            || !other.hasQuoted && records.allSatisfy { $0.allSatisfy { $0.isQuoted || $0.bytes.isEmpty } }
    }

    private var delimitersAreDecimal: Bool {
        records.allSatisfy { record in
            zip(record, record.dropFirst()).allSatisfy { left, right in
                !left.isQuoted && !right.isQuoted && left.bytes.last.map { (0x30...0x39).contains($0) } ?? false
                    && right.bytes.first.map { (0x30...0x39).contains($0) } ?? false
            }
        }
    }

    /// True if each field but the first begins with a blank.
    var hasBlanksBeforeFields: Bool {
        var isAny = false
        for field in records.lazy.flatMap({ $0.dropFirst() }) where !field.bytes.isEmpty {
            guard field.bytes[0] == 0x20, !field.isQuoted else { return false }
            isAny = true
        }
        return isAny
    }

    /// True if all records have as many fields, and they are numbers: in one column at least of several, or in both of two.
    var separatesNumbers: Bool {
        guard width > 1, isEven, records.count > 1, let first = records.first else { return false }
        func isNumbers(_ column: Int) -> Bool {
            records.dropFirst().allSatisfy { $0.indices.contains(column) && $0[column].isNumber }
        }
        return width > 2 ? first.indices.contains(where: isNumbers) : first.indices.allSatisfy(isNumbers)
    }

    /// True if the first line has names. It has values if a column of numbers, dates and the like begins in it.
    var hasHeader: Bool {
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

    var isNumber: Bool { !isQuoted && Double(String(decoding: bytes, as: UTF8.self)) != nil }

    /// True if the field consists of digits and the signs that numbers, dates and times have between them.
    var looksLikeData: Bool {
        !isQuoted && bytes.contains { (0x30...0x39).contains($0) }
            && bytes.allSatisfy { (0x30...0x39).contains($0) || "+-.,:/ TZeE%".utf8.contains($0) }
    }
}
