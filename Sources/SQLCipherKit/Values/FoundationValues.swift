import CSQLCipher
import Foundation

/// Stored as a BLOB of its 16 bytes. Read from that, or from TEXT in the usual form of 36 characters.
extension UUID: SQLValueConvertible {
    public var sqlValue: SQLValue { .blob(withUnsafeBytes(of: uuid) { Data($0) }) }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .blob(let bytes) where bytes.count == 16:
            var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
            withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes) }
            self.init(uuid: value)
        case .text(let text): self.init(uuidString: text)
        default: return nil
        }
    }

    public func tryBindSQL(to parameter: borrowing Statement.Parameter) -> Bool {
        withUnsafeBytes(of: uuid) { parameter.bindBlob($0) == SQLITE_OK }
    }
}

/// Stored as TEXT in decimal digits, which keeps every digit; SQL compares it as text, so sort in Swift or store scaled
/// integers where the order matters. Read also from INTEGER, and from REAL as the shortest decimal that means that number.
extension Decimal: SQLValueConvertible {
    public var sqlValue: SQLValue {
        get throws(DatabaseError) {
            if isNaN { throw .invalidArgument("NaN cannot be stored: SQLite would turn it into NULL") }
            return .text(description)
        }
    }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .text(let text):
            // Decimal's own parser stops at the first character that it does not know.
            guard text.wholeMatch(of: /[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?/) != nil,
                let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), !value.isNaN
            else { return nil }
            self = value
        case .integer(let value): self.init(value)
        case .real(let value):
            guard value.isFinite, let decimal = Decimal(string: "\(value)", locale: Locale(identifier: "en_US_POSIX")),
                !decimal.isNaN
            else { return nil }
            self = decimal
        default: return nil
        }
    }
}

/// Stored as TEXT, as its absolute string.
extension URL: SQLValueConvertible {
    public var sqlValue: SQLValue { .text(absoluteString) }

    public init?(sqlValue: SQLValue) {
        guard case .text(let text) = sqlValue else { return nil }
        self.init(string: text)
    }
}
