import CSQLCipher
import SQLCipherKitCore

extension CipherConfiguration.Hash {
    /// The minimum number of PBKDF2 rounds recommended for passphrases with this hash function: 1,300,000 with SHA-1, 600,000 with
    /// SHA-256, 210,000 with SHA-512 (OWASP, Password Storage Cheat Sheet,
    /// <https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#pbkdf2>).
    ///
    /// NIST SP 800-132 (5.2) requires at least 1,000, and as many as users can tolerate.
    package var recommendedIterations: Int {
        switch self {
        case .sha1: 1_300_000
        case .sha256: 600_000
        case .sha512: 210_000
        }
    }
}

extension CipherConfiguration {
    /// Measures how many rounds of PBKDF2 take a given time on this machine, for ``kdfIterations``.
    ///
    /// ```swift
    /// var cipher = CipherConfiguration()
    /// cipher.kdfIterations = try CipherConfiguration.iterations(taking: .milliseconds(500))
    /// ```
    /// Measuring takes some hundredths of a second, and is less accurate while the machine is busy. An attacker who guesses
    /// passphrases is slowed down by the same factor as you. The number is not stored in the file: keep it, because you need it
    /// each time you open the database. Opening the file on a slower machine takes longer.
    /// - Parameters:
    ///   - duration: how long deriving the key may take.
    ///   - hash: the hash function of PBKDF2. Default: SHA-512.
    /// - Returns: a multiple of 1,000, never less than OWASP recommends for the hash, however short the duration.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a duration that is not positive or is longer than an hour.
    public static func iterations(taking duration: Duration, hash: Hash = .sha512) throws(DatabaseError) -> Int {
        guard duration > .zero, duration <= .seconds(3600) else {
            throw .invalidArgument("the time for a key derivation must be positive and at most an hour, and is \(duration)")
        }
        let clock = ContinuousClock()
        var rounds = 4_000, elapsed = Duration.zero
        while elapsed < .milliseconds(15), rounds < 1 << 24 {
            rounds *= 2
            // Take the fastest of three runs, which was disturbed least.
            elapsed = .seconds(3600)
            for _ in 0..<3 {
                let start = clock.now
                try derive(rounds, hash)
                elapsed = min(elapsed, clock.now - start)
            }
        }
        let wished = Double(rounds) * (duration / max(elapsed, .nanoseconds(1)))
        let whole = wished >= Double(Int32.max) ? Int(Int32.max) / 1000 * 1000 : Int(wished) / 1000 * 1000
        return max(whole, hash.recommendedIterations)
    }

    /// Derives a key as SQLCipher does for a passphrase.
    private static func derive(_ rounds: Int, _ hash: Hash) throws(DatabaseError) {
        var key = [UInt8](repeating: 0, count: 32)
        let passphrase = [UInt8](repeating: 0x61, count: 16), salt = [UInt8](repeating: 0, count: 16)
        let rc = sqlcipherkit_derive_key(hash.number, passphrase, 16, salt, 16, Int32(rounds), &key, 32)
        if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
    }

    /// A way in which cipher settings are weaker than recommended today. Weak settings are not refused, since existing files use
    /// them.
    public enum Weakness: Hashable, Sendable, CustomStringConvertible {
        /// Fewer rounds of PBKDF2 than OWASP recommends for the hash. Irrelevant for raw keys and key slots, which do not use
        /// them.
        case keyDerivation(rounds: Int, recommended: Int)
        /// Pages are not authenticated, so tampering with the file goes undetected.
        case noAuthentication

        public var description: String {
            switch self {
            case .keyDerivation(let rounds, let recommended):
                "a passphrase is derived with \(rounds) rounds of PBKDF2, and \(recommended) are recommended"
            case .noAuthentication: "pages are not authenticated: changes to the file are not noticed"
            }
        }
    }

    /// The ways in which these settings are weaker than recommended today; empty for SQLCipher 4's defaults.
    /// ```swift
    /// for weakness in try db.main.cipher?.settings.weaknesses ?? [] { log.warning("\(weakness)") }
    /// ```
    public var weaknesses: [Weakness] {
        var weaknesses: [Weakness] = []
        if kdfIterations < kdfAlgorithm.recommendedIterations {
            weaknesses.append(.keyDerivation(rounds: kdfIterations, recommended: kdfAlgorithm.recommendedIterations))
        }
        if !usesHMAC { weaknesses.append(.noAuthentication) }
        return weaknesses
    }
}
