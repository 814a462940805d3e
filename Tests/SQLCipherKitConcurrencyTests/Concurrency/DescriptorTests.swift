import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct DescriptorTests {
    /// Reads go on with the readers that are open, and a pool that has none says why.
    @Test func poolWithoutDescriptorsUsesItsOpenReaders() throws {
        let folder = try TemporaryFolder()
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        try db.execute("CREATE TABLE t(who, number, half, padding)")
        let driver = try BuildProducts.executable("FaultDriver")
        let outcome = try Command.run(driver, ["pool-descriptors", folder.path("a.db"), "k"])
        #expect(outcome.output == "1 row\n1 row\n1 row\n1 row\nwritten\ncannot open\ndone\n", "\(outcome)")
    }
}
