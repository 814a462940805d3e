import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing

/// The cost of a passphrase, and the warnings about settings that cost too little.
@Suite struct KeyCostTests {
    @Test func defaultCipherSettingsHaveNoWeakness() {
        #expect(CipherConfiguration().weaknesses == [])
        for hash in CipherConfiguration.Hash.allCases {
            var cipher = CipherConfiguration()
            (cipher.kdfAlgorithm, cipher.kdfIterations) = (hash, hash.recommendedIterations)
            #expect(cipher.weaknesses == [])
            cipher.kdfIterations -= 1
            #expect(cipher.weaknesses == [.keyDerivation(rounds: cipher.kdfIterations, recommended: hash.recommendedIterations)])
        }
    }

    @Test func olderSQLCipherSettingsReportWeaknesses() {
        #expect(CipherConfiguration.sqlCipher1.weaknesses.contains(.noAuthentication))
        #expect(CipherConfiguration.sqlCipher2.weaknesses == [.keyDerivation(rounds: 4000, recommended: 1_300_000)])
        #expect(CipherConfiguration.sqlCipher3.weaknesses == [.keyDerivation(rounds: 64000, recommended: 1_300_000)])
        #expect(CipherConfiguration.sqlCipher3.weaknesses.first.map { "\($0)".contains("64000") } == true)
    }

    @Test func openDatabaseReportsCipherWeaknesses() throws {
        let db = try Connection(.memory, key: .passphrase("k").quick)
        #expect(try db.main.cipher?.settings.weaknesses == [.keyDerivation(rounds: 10, recommended: 210_000)])
    }

    /// No test fails on time: only that more time gives more rounds.
    @Test(arguments: CipherConfiguration.Hash.allCases) func iterationsGrowWithTime(_ hash: CipherConfiguration.Hash) throws {
        #expect(try CipherConfiguration.iterations(taking: .nanoseconds(1), hash: hash) == hash.recommendedIterations)
        let much = try CipherConfiguration.iterations(taking: .seconds(600), hash: hash)
        #expect(much > hash.recommendedIterations && much % 1000 == 0)
        var cipher = CipherConfiguration()
        cipher.kdfIterations = much
        try cipher.validate()
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(3601)]) func invalidIterationDurationThrows(_ duration: Duration) {
        let error = #expect(throws: DatabaseError.self) { try CipherConfiguration.iterations(taking: duration) }
        #expect(error?.reason == .invalidArgument)
    }
}
