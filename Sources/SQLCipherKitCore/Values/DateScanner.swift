/// Parses the ISO 8601 forms of a point in time that SQLite knows.
struct DateScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    mutating func seconds() -> Double? {
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
            (1...12).contains(month), (1...CivilDate.daysIn(month: month, year: year)).contains(day)
        else { return nil }
        var seconds = Double(CivilDate.days(year: year, month: month, day: day) * 86400)
        if rest.isEmpty { return seconds }
        guard skip("T") || skip(" "), let hour = number(2), hour < 24, skip(":"), let minute = number(2), minute < 60 else {
            return nil
        }
        seconds += Double(hour * 3600 + minute * 60)
        if skip(":") {
            guard let second = number(2), second < 60 else { return nil }
            seconds += Double(second)
            if skip(".") {
                guard let fraction = fraction() else { return nil }
                seconds += fraction
            }
        }
        guard let offset = offset(), rest.isEmpty else { return nil }
        return seconds - offset
    }

    private mutating func offset() -> Double? {
        while skip(" ") {}
        if rest.isEmpty || skip("Z") || skip("z") { return 0 }
        let sign: Double = skip("-") ? -1 : skip("+") ? 1 : 0
        guard sign != 0, let hours = number(2), hours < 15, skip(":"), let minutes = number(2), minutes < 60 else { return nil }
        return sign * Double(hours * 3600 + minutes * 60)
    }

    private mutating func fraction() -> Double? {
        var value = 0.0
        var scale = 1.0
        var count = 0
        while let digit = rest.first, (48...57).contains(digit) {
            // Digits after the fifteenth exceed a Double's precision.
            if count < 15 {
                value = value * 10 + Double(digit - 48)
                scale *= 10
            }
            count += 1
            rest.removeFirst()
        }
        return count > 0 ? value / scale : nil
    }

    private mutating func number(_ count: Int) -> Int64? {
        guard rest.count >= count else { return nil }
        var value: Int64 = 0
        for digit in rest.prefix(count) {
            guard (48...57).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - 48)
        }
        rest.removeFirst(count)
        return value
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}
