#if DEBUG || SQLCIPHERKIT_TESTABLE
import SQLCipherKit
import Testing
@testable import SQLCipherKitReplication

@Suite struct ReplicaIndexTests {
    /// No sum of the numbers in the pages of an index can overflow.
    @Test func pagesThatClaimTooManyEntriesAreDamage() throws {
        let tag = [UInt8](repeating: 1, count: 16)
        var contents = ReplicaContents()
        for number in 0..<17 as Range<UInt64> {
            contents.index.append(
                .page(
                    ReplicaIndex.PageEntry(
                        term: Array(tag.prefix(8)), number: number, level: 1, first: 0, count: 1 << 60, tag: tag, size: 900,
                        generation: 1, commits: 4, earliest: 2, age: 3)))
        }
        let bytes = contents.bytes
        #expect(throws: DatabaseError.self) { try ReplicaContents(bytes).index.start }
    }
}
#endif
