import Foundation

/// A number in a JSON document, parsed without rounding: ±magnitude × 10^exponent.
struct JSONNumber {
    private(set) var isNegative = false
    private(set) var magnitude: UInt64 = 0
    private(set) var exponent = 0
    /// True if there are more digits than ``magnitude`` holds, so that it is truncated.
    private(set) var isCut = false
    /// The number of digits from the first one that is not zero to the last one that is not zero.
    private(set) var significantDigits = 0

    /// Parses a number's payload; nil if it is malformed. Accepts the forms of JSON5 too.
    @inline(__always)
    init?(_ kind: JSONB.Kind, _ text: UnsafeRawBufferPointer) {
        switch kind {
        case .integer, .real, .real5: guard parseDecimal(text) else { return nil }
        case .hexInteger: guard parseHexadecimal(text) else { return nil }
        default: return nil
        }
    }

    private mutating func parseDecimal(_ text: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        let count = text.count
        if position < count, text[position] == UInt8(ascii: "-") {
            isNegative = true
            position += 1
        }
        var digits = Digits()
        digits: while position < count {
            let byte = text[position]
            if byte.isDigitASCII {
                append(byte - 0x30, &digits)
            } else if byte == UInt8(ascii: "."), digits.point == nil {
                digits.point = digits.count
            } else {
                break digits
            }
            position += 1
        }
        guard digits.count > 0 else { return false }
        exponent = (digits.point ?? digits.count) - digits.taken
        if position == count { return true }
        guard text[position] | 0x20 == UInt8(ascii: "e") else { return false }
        return parseExponent(text, position + 1)
    }

    private struct Digits {
        var count = 0
        /// The number of digits that are in the magnitude.
        var taken = 0
        /// The number of digits before the point; nil without a point.
        var point: Int?
        /// The index of the first significant digit.
        var first: Int?
    }

    /// Appends a digit to the magnitude; zeros only when another digit follows.
    @inline(__always)
    private mutating func append(_ digit: UInt8, _ digits: inout Digits) {
        digits.count &+= 1
        if digit == 0 { return }
        if digits.first == nil {
            digits.first = digits.count &- 1
            digits.taken = digits.count &- 1
        }
        significantDigits = digits.count &- (digits.first ?? 0)
        if isCut { return }
        var sum = magnitude
        for index in digits.taken..<digits.count {
            let (product, overflow) = sum.multipliedReportingOverflow(by: 10)
            let (next, more) = product.addingReportingOverflow(index == digits.count &- 1 ? UInt64(digit) : 0)
            if overflow || more {
                isCut = true
                return
            }
            sum = next
        }
        magnitude = sum
        digits.taken = digits.count
    }

    private mutating func parseExponent(_ text: UnsafeRawBufferPointer, _ start: Int) -> Bool {
        var position = start
        var isNegative = false
        if position < text.count, text[position] == UInt8(ascii: "-") || text[position] == UInt8(ascii: "+") {
            isNegative = text[position] == UInt8(ascii: "-")
            position += 1
        }
        guard position < text.count else { return false }
        var value = 0
        for byte in text[position...] {
            guard byte.isDigitASCII else { return false }
            // With a larger exponent every number is zero or infinite.
            if value < 1_000_000_000 { value = value * 10 + Int(byte - 0x30) }
        }
        exponent += isNegative ? -value : value
        return true
    }

    private mutating func parseHexadecimal(_ text: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        if let first = text.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
            isNegative = first == UInt8(ascii: "-")
            position = 1
        }
        guard text.count > position + 2, text[position] == 0x30, text[position + 1] | 0x20 == UInt8(ascii: "x") else {
            return false
        }
        for byte in text[(position + 2)...] {
            guard let digit = byte.hexDigit, magnitude >> 60 == 0 else { return false }
            magnitude = magnitude << 4 | UInt64(digit)
        }
        significantDigits = String(magnitude).count
        return true
    }

    // MARK: Values

    /// Returns the number as an integer, if it is one and fits.
    func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T? {
        if isCut { return nil }
        var magnitude = magnitude
        var exponent = magnitude == 0 ? 0 : exponent
        while exponent < 0 {
            let (quotient, digit) = magnitude.quotientAndRemainder(dividingBy: 10)
            guard digit == 0 else { return nil }
            magnitude = quotient
            exponent += 1
        }
        while exponent > 0 {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            magnitude = product
            exponent -= 1
        }
        if !isNegative { return T(exactly: magnitude) }
        if magnitude <= UInt64(Int64.max) { return T(exactly: -Int64(magnitude)) }
        return magnitude == Int64.min.magnitude ? T(exactly: Int64.min) : nil
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
        1e22,
    ]

    /// The nearest `Double`, if one multiplication or division of exact numbers gives it; otherwise nil.
    @inline(__always)
    var quickDouble: Double? {
        guard !isCut, magnitude <= 1 << 53, exponent >= -22, exponent <= 22 else { return nil }
        let value = Double(magnitude)
        let power = Self.powersOfTen[abs(exponent)]
        let result = exponent < 0 ? value / power : value * power
        return isNegative ? -result : result
    }

    /// Returns the nearest `Double`; infinite for a number beyond its range.
    @inline(__always)
    func double(_ kind: JSONB.Kind, _ text: UnsafeRawBufferPointer) -> Double? {
        if let quickDouble { return quickDouble }
        if kind == .hexInteger { return isNegative ? -Double(magnitude) : Double(magnitude) }
        return Double(String(decoding: text, as: UTF8.self))
    }

    /// Returns the number as a `Decimal` with all its digits, or nil.
    func decimal(_ kind: JSONB.Kind, _ text: UnsafeRawBufferPointer) -> Decimal? {
        // A Decimal has 128 bits: every number of 38 digits, and some of 39.
        guard significantDigits <= 39, abs(exponent) < 1000 else { return nil }
        if !isCut, exponent == 0 { return isNegative ? -Decimal(magnitude) : Decimal(magnitude) }
        let value = Decimal(string: String(decoding: text, as: UTF8.self), locale: Locale(identifier: "en_US_POSIX"))
        guard let value, !value.isNaN, !(value.isZero && significantDigits > 0) else { return nil }
        if significantDigits == 39, !Self.hasDigits(value.description.utf8, of: text) { return nil }
        return value
    }

    /// Returns whether two decimal numbers have the same significant digits, so that the first is the second and not rounded.
    private static func hasDigits(_ number: String.UTF8View, of text: UnsafeRawBufferPointer) -> Bool {
        func digits(_ text: some Sequence<UInt8>) -> ArraySlice<UInt8> {
            let mantissa = text.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
            let digits = mantissa.filter { $0 >= 0x30 && $0 <= 0x39 }
            let trailing = digits.reversed().prefix { $0 == 0x30 }.count
            return digits.dropLast(trailing).drop { $0 == 0x30 }
        }
        return digits(number) == digits(text)
    }

    /// True if this is the number that SQLite writes for an infinity: 9e999, in any spelling.
    var isSQLiteInfinity: Bool {
        guard let normalized else { return false }
        return normalized.magnitude == 9 && normalized.exponent == 999
    }

    /// Returns whether this is the number that a `Double` is written as, with the same digits apart from leading and trailing
    /// zeros.
    func isWritten(as value: Double) -> Bool {
        guard value.isFinite else { return false }
        var written = value.description
        let other = written.withUTF8 { JSONNumber(.real, UnsafeRawBufferPointer($0)) }
        guard let other else { return false }
        return normalized == other.normalized
    }

    private var normalized: Normalized? {
        if isCut { return nil }
        var magnitude = magnitude
        var exponent = exponent
        if magnitude == 0 { return Normalized(isNegative: isNegative, magnitude: 0, exponent: 0) }
        while magnitude % 10 == 0 {
            magnitude /= 10
            exponent += 1
        }
        return Normalized(isNegative: isNegative, magnitude: magnitude, exponent: exponent)
    }

    private struct Normalized: Equatable {
        let isNegative: Bool
        let magnitude: UInt64
        let exponent: Int
    }
}
