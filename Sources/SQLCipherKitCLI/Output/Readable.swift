import Foundation

extension BinaryInteger {
    /// The number with a comma between thousands.
    var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return self < 0 ? "-" + text : text
    }

    /// The number with its noun, such as `1 file` or `2,000 files`.
    func counted(_ noun: String, plural: String? = nil) -> String { grouped + " " + (self == 1 ? noun : plural ?? noun + "s") }

    /// A number of bytes in binary units, such as `8.0 MiB`.
    var bytes: String {
        var value = Double(self)
        if value < 1024 { return counted("byte") }
        for unit in ["KiB", "MiB", "GiB"] {
            value /= 1024
            if value < 1024 { return String(format: "%.1f ", value) + unit }
        }
        return String(format: "%.1f TiB", value / 1024)
    }
}

extension Duration {
    /// In seconds, to the millisecond.
    var roundedSeconds: Double {
        Double(components.seconds) + (Double(components.attoseconds) / 1e15).rounded() / 1000
    }

    /// The time in the unit that fits, such as `12 ms` or `3.2 s`.
    var readable: String {
        let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
        if seconds < 0.0995 { return String(format: seconds < 0.00995 ? "%.1f ms" : "%.0f ms", seconds * 1000) }
        return String(format: seconds < 9.995 ? "%.2f s" : "%.1f s", seconds)
    }
}

extension Date {
    /// The time to the minute, in UTC.
    var minute: String {
        let day = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        let style = day.dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        return String(formatted(style).prefix(16))
    }
}
