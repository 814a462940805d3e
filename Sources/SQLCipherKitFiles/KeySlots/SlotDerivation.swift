import CSQLCipher
import SQLCipherKitCore

extension KeySlots {
    /// The derivation of a slot's key from its passphrase or recovery key, which determines the cost of a guess.
    ///
    /// The slot file stores it, authenticated with the slot. The cost that a file may demand is limited: see
    /// ``KeySlots/defaultCostLimit``.
    public enum Derivation: Hashable, Sendable {
        /// Argon2id, version 1.3 (RFC 9106). It takes computing time and memory, which makes guessing with graphics cards
        /// expensive. Memory is in KiB, from 7,168 to 1,048,576 (1 GiB). There are 1 to 64 passes, and 1 to 16 lanes, which are
        /// computed one after the other. Memory times passes must be at least 35,840, OWASP's minimum
        /// (<https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html>).
        case argon2id(memory: Int = 65_536, passes: Int = 3, lanes: Int = 1)
        /// PBKDF2 with HMAC-SHA-512 (RFC 8018). It takes computing time but hardly any memory, so graphics cards guess fast. From
        /// 1,000 rounds, the minimum of NIST SP 800-132, to 10,000,000. OWASP recommends 210,000.
        case pbkdf2(iterations: Int)

        /// The default for a new slot: Argon2id with 64 MiB, 3 passes and 1 lane.
        public static let standard = Derivation.argon2id()
        /// The standard of version 1. A slot does not keep it when its secret changes.
        private static let former = Derivation.pbkdf2(iterations: 256_000)

        /// The derivation for a slot whose secret is wrapped again: the slot's own, unless that was a former standard.
        var renewed: Derivation { self == Self.former ? .standard : self }

        /// The cost of an attempt, in rounds of PBKDF2: a pass of Argon2id over one KiB counts as two rounds, which take about as
        /// long.
        public var cost: Int {
            switch self {
            case .argon2id(let memory, let passes, _):
                // Numbers out of range are refused elsewhere.
                [2, memory, passes].reduce(1) { product, factor in
                    let (value, overflows) = product.multipliedReportingOverflow(by: factor)
                    return overflows ? Int.max : value
                }
            case .pbkdf2(let iterations): iterations
            }
        }

        /// - Throws: ``DatabaseError/Reason/invalidArgument`` for numbers out of range.
        func validate() throws {
            switch self {
            case .argon2id(let memory, let passes, let lanes):
                guard (7_168...1_048_576).contains(memory), (1...64).contains(passes), (1...16).contains(lanes),
                    memory * passes >= 35_840
                else {
                    throw DatabaseError.invalidArgument(
                        "Argon2id for a key slot takes 7,168 to 1,048,576 KiB of memory, 1 to 64 passes and 1 to 16 lanes, with "
                            + "memory times passes at least 35,840: not \(memory), \(passes) and \(lanes)")
                }
            case .pbkdf2(let iterations):
                guard (1_000...10_000_000).contains(iterations) else {
                    throw DatabaseError.invalidArgument(
                        "a key slot requires 1,000 to 10,000,000 rounds of PBKDF2, not \(iterations)"
                    )
                }
            }
        }

        /// Derives 64 bytes, or `count` bytes, from a secret and a salt.
        func derive(_ secret: UnsafeRawBufferPointer, salt: [UInt8], count: Int = 64) throws -> SecureBytes {
            try SecureBytes(count: count) { key in
                let rc =
                    switch self {
                    case .argon2id(let memory, let passes, let lanes):
                        sqlcipherkit_argon2id(
                            secret.baseAddress, secret.count, salt, salt.count, UInt32(memory), UInt32(passes), UInt32(lanes),
                            key.baseAddress, count)
                    case .pbkdf2(let iterations):
                        sqlcipherkit_derive_key(
                            2, secret.baseAddress, Int32(secret.count), salt, Int32(salt.count), Int32(iterations), key.baseAddress,
                            Int32(count))
                    }
                if rc != SQLITE_OK {
                    throw DatabaseError(code: ResultCode(rawValue: rc), message: "the key of a slot could not be derived")
                }
            }
        }
    }
}

extension KeySlots.Derivation: CustomStringConvertible {
    /// The algorithm and its numbers.
    public var description: String {
        switch self {
        case .argon2id(let memory, let passes, let lanes):
            "Argon2id, \(memory) KiB, \(passes) pass\(passes == 1 ? "" : "es"), \(lanes) lane\(lanes == 1 ? "" : "s")"
        case .pbkdf2(let iterations): "PBKDF2, \(iterations) rounds"
        }
    }
}

// MARK: In the slot file

extension KeySlots.Derivation {
    /// Reads one byte for the algorithm, and three numbers of 4 bytes.
    init(_ reader: inout ByteReader) throws {
        let algorithm = try reader.number(bytes: 1)
        let numbers = (try reader.number(bytes: 4), try reader.number(bytes: 4), try reader.number(bytes: 4))
        switch (algorithm, numbers) {
        case (1, (let iterations, 0, 0)): self = .pbkdf2(iterations: iterations)
        case (2, (let memory, let passes, let lanes)): self = .argon2id(memory: memory, passes: passes, lanes: lanes)
        default: throw DatabaseError.damagedSlots("a slot has an unknown key derivation")
        }
        do { try validate() } catch let error as DatabaseError { throw DatabaseError.damagedSlots(error.message) }
    }

    func write(to writer: inout [UInt8]) {
        let (algorithm, numbers) =
            switch self {
            case .pbkdf2(let iterations): (1, [iterations, 0, 0])
            case .argon2id(let memory, let passes, let lanes): (2, [memory, passes, lanes])
            }
        writer.append(number: algorithm, bytes: 1)
        for number in numbers { writer.append(number: number, bytes: 4) }
    }
}
