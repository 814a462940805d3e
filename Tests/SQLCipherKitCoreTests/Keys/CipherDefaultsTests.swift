import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// Changes of the engine's process-wide defaults by the C API do not affect files that the Swift layer writes.
@Suite struct CipherDefaultsTests {
    @Test func processWideCipherDefaultsDoNotAffectConnections() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("opened.db")
        let outcome = try Command.run(BuildProducts.executable("FaultDriver"), ["defaults", path])
        #expect(outcome.status == 0 && outcome.output.contains("done"), "\(outcome)")
        for name in ["opened.db", "opened.db-attached", "opened.db-backup"] {
            let db = try Connection(.file(folder.path(name)), key: .passphrase("k").quick)
            #expect(try db.fetchOne(Int.self, "SELECT x FROM t") == 42, "\(name)")
            #expect(try db.main.cipher?.settings == .quick)
        }
    }

    /// The one default that no connection has for itself.
    @Test func changedHMACSaltMaskThrows() throws {
        let folder = try TemporaryFolder()
        let outcome = try Command.run(BuildProducts.executable("FaultDriver"), ["saltmask", folder.path("a.db")])
        #expect(outcome.status == 1 && outcome.output.contains("error misuse"), "\(outcome)")
    }
}
