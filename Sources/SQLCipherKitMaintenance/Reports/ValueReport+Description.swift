import SQLCipherKitCore

extension Schema.ValueReport.Form: CustomStringConvertible {
    /// A readable description, such as `text yyyy-MM-dd HH:mm:ss.SSS` or `integer seconds since 1970`.
    public var description: String {
        switch self {
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        case .date(.integerSeconds): "integer seconds since 1970"
        case .date(.realSeconds): "real seconds since 1970"
        case .date(.milliseconds): "integer milliseconds since 1970"
        case .date(.secondsSince2001): "seconds since 2001"
        case .date(.julianDays): "Julian days"
        case .date(.custom(let form)): "\(form)"
        case .date(.text(let format)): "text \(format)"
        case .archivedDate: "archive of an NSDate"
        case .extendedJSONDate: "date in Extended JSON"
        case .otherDate: "text of a date in another form"
        case .uuid(.blob): "blob of 16 bytes"
        case .uuid(.uppercaseText): "text in capitals"
        case .uuid(.lowercaseText): "text in small letters"
        case .numericText: "text in digits"
        case .booleanText: "text true or false"
        }
    }
}

extension DateTextFormat: CustomStringConvertible {
    /// The format as a pattern, such as `yyyy-MM-ddTHH:mm:ss.SSSZ`.
    public var description: String {
        let fraction = fraction == .none ? "" : "." + String(repeating: "S", count: Int(fraction.rawValue))
        let zone =
            switch zone {
            case .none: ""
            case .z: "Z"
            case .offset: "+00:00"
            }
        return "yyyy-MM-dd\(separator == .t ? "T" : " ")HH:mm:ss\(fraction)\(zone)"
    }
}
