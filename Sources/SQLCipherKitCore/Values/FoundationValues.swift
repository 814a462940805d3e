import CSQLCipher
import Foundation

/// Stored according to the connection's ``ValueProfile/uuids``. Without a connection, ``sqlValue`` gives a BLOB of its 16 bytes.
/// Read from such a BLOB, or from TEXT in the usual form of 36 characters.
extension UUID: SQLValueConvertible {
    public var sqlValue: SQLValue { .blob(withUnsafeBytes(of: uuid) { Data($0) }) }

    /// The UUID as ``ValueProfile/uuids`` of the profile stores it.
    /// - Throws: no error.
    public func sqlValue(in profile: ValueProfile) throws -> SQLValue {
        switch profile.uuids {
        case .blob: sqlValue
        case .uppercaseText: .text(uuidString)
        case .lowercaseText: .text(uuidString.lowercased())
        }
    }

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

    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        guard parameter.profile.uuids == .blob else { return false }
        return withUnsafeBytes(of: uuid) { parameter.bindBlob($0) == SQLITE_OK }
    }
}

/// Stored according to the connection's ``ValueProfile/decimals``. Without a connection, ``sqlValue`` gives a number. Read from
/// INTEGER, from REAL as the shortest decimal that identifies that number, and from TEXT in decimal digits.
extension Decimal: SQLValueConvertible {
    /// The decimal as an INTEGER or a REAL.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for NaN, and for a decimal with more digits than an INTEGER or a REAL
    ///   holds exactly.
    public var sqlValue: SQLValue { get throws { try sqlValue(in: .standard) } }

    /// The decimal as ``ValueProfile/decimals`` of the profile stores it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for NaN, and with ``DecimalStrategy/number`` for a decimal with more
    ///   digits than an INTEGER or a REAL holds exactly.
    public func sqlValue(in profile: ValueProfile) throws -> SQLValue {
        if isNaN { throw DatabaseError.invalidArgument("NaN cannot be stored: SQLite would turn it into NULL") }
        switch profile.decimals {
        case .text: return .text(description)
        case .number: return try number()
        }
    }

    /// The INTEGER or REAL that represents this decimal and converts back to it.
    private func number() throws -> SQLValue {
        var digits = description[...]
        if digits.utf8.contains(UInt8(ascii: ".")) {
            while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
            if digits.utf8.last == UInt8(ascii: ".") { digits.removeLast() }
        }
        if let whole = Int64(digits) { return .integer(whole) }
        guard let real = Double(digits), real.isFinite, Decimal(sqlValue: .real(real)) == self else {
            throw DatabaseError.invalidArgument(
                "a Decimal has more digits than a number in SQLite: round it, or store decimals as text (DecimalStrategy)")
        }
        return .real(real)
    }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .text(let text):
            // Decimal's own parser stops at the first invalid character instead of failing.
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

/// Stored as TEXT, as its absolute string. Text that is not a URL as it stands, such as text with a space, is not read as a URL.
extension URL: SQLValueConvertible {
    public var sqlValue: SQLValue { .text(absoluteString) }

    public init?(sqlValue: SQLValue) {
        guard case .text(let text) = sqlValue else { return nil }
        self.init(string: text, encodingInvalidCharacters: false)
    }
}
