import Foundation
import SQLCipherKitCore

extension SQLValue {
    var isNumber: Bool {
        switch self {
        case .integer, .real: true
        case .null, .text, .blob: false
        }
    }
}

/// Dates as other libraries write them where SQLite has no form for them.
extension Date {
    /// A date of an archive of `NSDate` or of Extended JSON; nil for anything else.
    init?(foreign value: SQLValue) {
        switch value {
        case .blob(let bytes): self.init(archive: bytes)
        case .text(let text): self.init(extendedJSON: text)
        case .null, .integer, .real: return nil
        }
    }

    /// The date in what `NSKeyedArchiver` writes of an `NSDate`: a binary property list with the seconds since 2001 as `NS.time`.
    init?(archive bytes: Data) {
        guard bytes.count < 4096, bytes.starts(with: Data("bplist00".utf8)),
            let list = try? PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any],
            list["$archiver"] != nil, let objects = list["$objects"] as? [Any]
        else { return nil }
        let seconds = objects.compactMap { ($0 as? [String: Any])?["NS.time"] as? Double }
        guard seconds.count == 1, seconds[0].isFinite else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds[0])
    }

    /// The date of `{"$date": …}`: a text in ISO 8601, or milliseconds since 1970 in a `$numberLong`
    /// (<https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/>).
    init?(extendedJSON text: String) {
        guard text.utf8.count < 200, text.utf8.first == UInt8(ascii: "{"), case .object(let members)? = try? JSONValue(text: text),
            members.count == 1
        else { return nil }
        switch members["$date"] {
        case .string(let text)?: self.init(sqlValue: .text(text))
        case .integer(let milliseconds)?: self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
        case .object(let inner)?:
            guard inner.count == 1, case .string(let digits)? = inner["$numberLong"], let milliseconds = Int64(digits) else {
                return nil
            }
            self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
        default: return nil
        }
    }
}
