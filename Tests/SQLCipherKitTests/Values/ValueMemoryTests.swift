import Foundation
import TestSupport
import Testing

/// A text comes back as it is or as an error, whichever allocation fails on its way: SQLite's answer for a text that it found no
/// memory for is that of an empty one.
@Suite struct ValueMemoryTests {
    @Test func textReadUnderMemoryFailureIsWholeOrThrows() throws {
        let folder = try TemporaryFolder()
        let outcome = try Command.run(
            BuildProducts.executable("FaultDriver"), ["values", folder.path("made.db"), LongTests.areOn ? "100000" : "40"])
        #expect(outcome.status == 0 && !outcome.output.contains("FAILED"), "\(outcome.output.suffix(4000))\(outcome.errors.suffix(2000))")
        #expect(outcome.output.contains("struck "))
    }
}
