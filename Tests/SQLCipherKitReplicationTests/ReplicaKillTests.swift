import Foundation
import Testing
import TestSupport

/// The machine in Tests/Proofs/ReplicaProof, for a short time.
@Suite struct ReplicaKillTests {
    @Test func killedReplicaLosesNoCommit() throws {
        let outcome = try Command.run(
            BuildProducts.executable("ReplicaProof"), LongTests.areOn ? ["--minutes", "2"] : ["--cases", "1"])
        #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
        #expect(outcome.output.contains("0 findings"))
    }
}
