/// What the user says about a CSV file. Whatever is nil is detected.
struct CSVOptions {
    enum Quote { case none, byte(UInt8) }
    enum Ragged: String, CaseIterable { case error, pad, skip }

    var delimiter: UInt8?
    var quote: Quote?
    var hasHeader: Bool?
    /// What to do with a record that has more or fewer fields than the first line.
    var ragged = Ragged.error
    /// Whether every field is stored as text.
    var keepsText = false
}

extension CSVDialect {
    /// Detects the dialect that fits the beginning of a file best.
    /// - Parameters:
    ///   - sample: UTF-8.
    ///   - isWhole: whether the sample is the whole file: otherwise its last record may be cut off.
    ///   - usual: the delimiter that the file's name suggests.
    init(of sample: ArraySlice<UInt8>, isWhole: Bool, _ options: CSVOptions, usual: UInt8) {
        let sample = Array(sample)
        lineEnd = Self.lineEnd(of: sample)
        let delimiters: [UInt8] = options.delimiter.map { [$0] }
            ?? [usual] + ",;\t|".utf8.filter { $0 != usual }
        let quotes: [UInt8?] = switch options.quote {
        case nil: [0x22, 0x27]
        case .some(.none): [nil]
        case .byte(let byte): [byte]
        }
        var best: Reading?
        for quote in quotes {
            for delimiter in delimiters {
                var dialect = self
                (dialect.delimiter, dialect.quote) = (delimiter, quote)
                let isUsual = delimiter == delimiters[0] || options.ragged != .error
                let reading = Reading(sample, isWhole: isWhole, isUsual: isUsual, dialect)
                // An apostrophe is a quote only if nothing else explains the file: quotes are not part of the text.
                if quote == 0x27, quotes.count > 1, let best, !reading.explainsMore(than: best) { continue }
                if best.map({ reading.isBetter(than: $0) }) ?? true { best = reading }
            }
        }
        guard let best else { return }
        self = best.dialect
        hasHeader = options.hasHeader ?? best.hasHeader
    }
}

extension CSVDialect {
    /// A line feed, unless only carriage returns occur outside of quotes.
    private static func lineEnd(of sample: [UInt8]) -> UInt8 {
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
    let dialect: CSVDialect
    /// Whether several columns in the first line are sufficient evidence.
    private let isUsual: Bool
    private var records: [[CSVField]] = []
    private var isBroken = false

    init(_ sample: [UInt8], isWhole: Bool, isUsual: Bool, _ dialect: CSVDialect) {
        (self.dialect, self.isUsual) = (dialect, isUsual)
        var scanner = CSVScanner(ByteReader(sample), dialect)
        do {
            while records.count < 1000, let record = try scanner.record() { records.append(record) }
            if !isWhole, records.count > 1, records.count < 1000 { records.removeLast() }
        } catch {
            // A sample may end inside a quoted field.
            isBroken = isWhole || scanner.bytes.offset < sample.count
        }
    }

    private var width: Int { records.first?.count ?? 0 }
    /// The fraction of records that have as many fields as the first one.
    private var evenness: Double { Double(records.count { $0.count == width }) / Double(max(1, records.count)) }
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
        // Both fit: the commas of decimal fractions are not delimiters.
        guard other.width > 1, other.dialect.delimiter == UInt8(ascii: ",") else { return false }
        return other.delimitersAreDecimal && !delimitersAreDecimal
    }

    /// Whether this reading, with apostrophes as quotes, is even and the other is not, or has all of its fields quoted.
    func explainsMore(than other: Reading) -> Bool {
        guard isEven, hasQuoted else { return false }
        return !other.isEven || !other.hasQuoted && records.allSatisfy { $0.allSatisfy { $0.isQuoted || $0.bytes.isEmpty } }
    }

    private var delimitersAreDecimal: Bool {
        records.allSatisfy { record in
            zip(record, record.dropFirst()).allSatisfy { left, right in
                !left.isQuoted && !right.isQuoted && left.bytes.last.map { (0x30...0x39).contains($0) } ?? false
                    && right.bytes.first.map { (0x30...0x39).contains($0) } ?? false
            }
        }
    }

    /// Whether the first line has names. It has values if a column of numbers, dates and the like begins in it.
    var hasHeader: Bool {
        guard let first = records.first else { return true }
        return !first.indices.contains { column in
            let values = records.dropFirst().compactMap { $0.indices.contains(column) ? $0[column] : nil }
            return first[column].looksLikeData && values.allSatisfy { $0.bytes.isEmpty || $0.looksLikeData }
        }
    }
}

extension CSVField {
    /// Whether the field consists of digits and the signs that numbers, dates and times have between them.
    fileprivate var looksLikeData: Bool {
        !isQuoted && bytes.contains { (0x30...0x39).contains($0) }
            && bytes.allSatisfy { (0x30...0x39).contains($0) || "+-.,:/ TZeE%".utf8.contains($0) }
    }
}
