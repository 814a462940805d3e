import Foundation
import Testing
import TestSupport

/// Programs over the whole API against SQLite itself: Tests/Proofs/Model.
@Suite struct ModelTests {
    /// The same short programs in each run, and others in a long one.
    @Test func randomAPIProgramsMatchSQLite() throws {
        let arguments = (LongTests.areOn ? ["--minutes", "2"] : ["--cases", "60"]) + ["--seed", "\(Seed.value)"]
        let outcome = try Command.run(try BuildProducts.executable("Model"), arguments)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("0 findings"))
    }
}
