import CSQLCipher
import Foundation
import SQLCipherKitCore

extension KeySlots {
    /// A random key for a recovery slot of ``KeySlots``, to print and store in a safe place.
    ///
    /// A recovery key holds 160 random bits. ``text`` shows them and a checksum of 20 bits as 36 characters in nine groups:
    /// ```swift
    /// let key = try slots.addRecoveryKey(label: "safe")
    /// print(key.text)  // 4T0W-9MJC-…
    /// ```
    /// The alphabet is Crockford's Base32 (<https://www.crockford.com/base32.html>): no letter looks like a digit. Typed keys may
    /// be in either case, with O for 0 and I or L for 1, and may contain dashes, spaces, tabs and line endings of any kind
    /// anywhere.
    public struct RecoveryKey: Sendable {
        static let byteCount = 20
        private static let characterCount = 36
        private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

        let bytes: SharedSecureBytes

        /// Creates a random key.
        /// - Throws: ``DatabaseError/Reason/noRandomBytes``, or ``ResultCode/outOfMemory``.
        public init() throws { bytes = SharedSecureBytes(try .random(count: Self.byteCount)) }

        /// Parses a key as a user typed it.
        /// - Throws: ``DatabaseError/Reason/invalidKey`` if it does not have 36 characters of the alphabet, or if the checksum
        ///   shows a mistake. One mistake in a million is not detected; the key then opens nothing.
        public init(text: String) throws {
            bytes = try text.withBytes { bytes in try Self.decode(bytes) }
        }

        /// Parses a key from bytes that the caller can wipe.
        /// - Throws: ``DatabaseError/Reason/invalidKey``.
        public init(utf8 text: some ContiguousBytes) throws {
            bytes = try text.withBytes { bytes in try Self.decode(bytes) }
        }

        /// The key in nine groups of four characters, to show once. No other property shows it.
        ///
        /// A `String` stays in memory until Swift reuses that memory.
        public var text: String {
            bytes.withUnsafeBytes { bytes in
                var text = ""
                let check = Self.checksum(bytes)
                for index in 0..<Self.characterCount {
                    if index > 0, index % 4 == 0 { text.append("-") }
                    let value = index < 32 ? Self.five(bytes, at: index * 5) : check >> UInt32(5 * (35 - index)) & 31
                    text.append(Character(Unicode.Scalar(Self.alphabet[Int(value)])))
                }
                return text
            }
        }

        private static func decode(_ text: UnsafeRawBufferPointer) throws -> SharedSecureBytes {
            var check: UInt32 = 0
            let bytes = try SecureBytes(count: byteCount) { memory in
                var count = 0
                var codec = UTF8(), bytes = text.makeIterator()
                decoding: while true {
                    let scalar: Unicode.Scalar
                    switch codec.decode(&bytes) {
                    case .emptyInput: break decoding
                    case .error: throw DatabaseError.malformedRecoveryKey
                    case .scalarValue(let decoded): scalar = decoded
                    }
                    if isSeparator(scalar) { continue }
                    guard let value = value(of: scalar), count < characterCount else { throw DatabaseError.malformedRecoveryKey }
                    for bit in 0..<5 where count < 32 && value >> UInt32(4 - bit) & 1 == 1 {
                        let position = count * 5 + bit
                        memory[position / 8] |= 0x80 >> UInt8(position % 8)
                    }
                    if count >= 32 { check = check << 5 | value }
                    count += 1
                }
                guard count == characterCount else { throw DatabaseError.malformedRecoveryKey }
            }
            guard bytes.withUnsafeBytes({ checksum($0) }) == check else {
                throw CipherConfiguration.invalid("the recovery key was mistyped: its checksum does not match")
            }
            return SharedSecureBytes(bytes)
        }

        /// Returns whether a character is one that word processors, mail programs or users put between groups: every dash and space
        /// in Unicode, and marks of zero width.
        private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
            if scalar.isASCII { return scalar == "-" || scalar == " " || (9...13).contains(scalar.value) }
            let properties = scalar.properties
            return properties.isDash || properties.isWhitespace || properties.generalCategory == .format || scalar == "\u{2043}"
        }

        private static func value(of scalar: Unicode.Scalar) -> UInt32? {
            guard let character = UInt8(exactly: scalar.value), scalar.isASCII else { return nil }
            let upper = character >= UInt8(ascii: "a") && character <= UInt8(ascii: "z") ? character - 32 : character
            switch upper {
            case UInt8(ascii: "O"): return 0
            case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
            default: return alphabet.firstIndex(of: upper).map { UInt32($0) }
            }
        }

        private static func five(_ bytes: UnsafeRawBufferPointer, at bit: Int) -> UInt32 {
            var value: UInt32 = 0
            for position in bit..<bit + 5 { value = value << 1 | UInt32(bytes[position / 8] >> UInt8(7 - position % 8) & 1) }
            return value
        }

        /// The first 20 bits of HMAC-SHA-512 over the key, keyed with a constant.
        private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
            var mac = [UInt8](repeating: 0, count: Int(SQLCIPHERKIT_MAC))
            let name = Array("SQLCipherKit recovery key 1".utf8)
            sqlcipherkit_mac(name, name.count, bytes.baseAddress, bytes.count, &mac)
            return UInt32(mac[0]) << 12 | UInt32(mac[1]) << 4 | UInt32(mac[2]) >> 4
        }
    }
}

extension KeySlots.RecoveryKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type, without the key; ``text`` shows the key.
    public var description: String { "KeySlots.RecoveryKey" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension DatabaseError {
    fileprivate static var malformedRecoveryKey: DatabaseError {
        CipherConfiguration.invalid("a recovery key has 36 digits and letters, without U; dashes and spaces do not count")
    }
}
