import CSQLCipher

extension CipherConfiguration.Hash {
    /// The least rounds of PBKDF2 with this hash function that are recommended for passphrases: 1,300,000 with SHA-1, 600,000 with
    /// SHA-256, 210,000 with SHA-512 (OWASP, Password Storage Cheat Sheet,
    /// <https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#pbkdf2>).
    ///
    /// NIST SP 800-132 (5.2) asks for 1,000 at least, and for as many as users can wait for.
    public var recommendedIterations: Int {
        switch self {
        case .sha1: 1_300_000
        case .sha256: 600_000
        case .sha512: 210_000
        }
    }
}

extension CipherConfiguration {
    /// How many rounds of PBKDF2 take a given time on this machine, for ``kdfIterations``.
    ///
    /// ```swift
    /// var cipher = CipherConfiguration()
    /// cipher.kdfIterations = try CipherConfiguration.iterations(taking: .milliseconds(500))
    /// ```
    /// It measures, which takes some hundredths of a second, and less well while the machine is busy. Whoever guesses is as much
    /// slower as you are. The number is not stored in the file: keep it, as every opening needs it. A slower machine that opens the
    /// file takes longer.
    /// - Parameters:
    ///   - duration: how long an opening may take for its key.
    ///   - hash: the hash function of PBKDF2. Default: SHA-512.
    /// - Returns: a multiple of 1,000, never less than ``Hash/recommendedIterations``, however short the time.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a time that is not positive, or longer than an hour.
    public static func iterations(taking duration: Duration, hash: Hash = .sha512) throws(DatabaseError) -> Int {
        guard duration > .zero, duration <= .seconds(3600) else {
            throw .invalidArgument("a key derivation takes more than nothing and at most an hour, and not \(duration)")
        }
        let clock = ContinuousClock()
        var rounds = 4_000, elapsed = Duration.zero
        while elapsed < .milliseconds(15), rounds < 1 << 24 {
            rounds *= 2
            // The fastest of three is the one that was disturbed least.
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

    /// What SQLCipher derives for a passphrase.
    private static func derive(_ rounds: Int, _ hash: Hash) throws(DatabaseError) {
        var key = [UInt8](repeating: 0, count: 32)
        let passphrase = [UInt8](repeating: 0x61, count: 16), salt = [UInt8](repeating: 0, count: 16)
        let rc = sqlcipherkit_derive_key(hash.number, passphrase, 16, salt, 16, Int32(rounds), &key, 32)
        if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
    }

    /// Where cipher settings are weaker than what is recommended today. Nothing is refused for it: files of others have them.
    public enum Weakness: Hashable, Sendable, CustomStringConvertible {
        /// Fewer rounds of PBKDF2 than ``Hash/recommendedIterations``. Without meaning for raw keys and key slots, which do not use
        /// them.
        case keyDerivation(rounds: Int, recommended: Int)
        /// Pages are not authenticated: changes to the file are not noticed.
        case noAuthentication

        public var description: String {
            switch self {
            case .keyDerivation(let rounds, let recommended):
                "a passphrase is derived with \(rounds) rounds of PBKDF2, and \(recommended) are recommended"
            case .noAuthentication: "pages are not authenticated: changes to the file are not noticed"
            }
        }
    }

    /// Where these settings are weaker than what is recommended today; empty for SQLCipher 4's.
    /// ```swift
    /// for weakness in db.main.cipher?.settings.weaknesses ?? [] { log.warning("\(weakness)") }
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
