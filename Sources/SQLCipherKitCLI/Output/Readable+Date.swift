import Foundation

extension Date {
    /// The time to the minute, in UTC.
    var minute: String {
        let day = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        let style = day.dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        return String(formatted(style).prefix(16))
    }
}
