import Foundation

extension Date {
    /// The time to the minute, in UTC.
    var minute: String {
        let style = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day().dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        return String(formatted(style).prefix(16))
    }
}
