import CSQLCipher
import SQLCipherKitCore

extension Connection {
    /// Writes an encrypted page of a replica in the open transaction.
    /// - Parameter bytes: the page; decrypted in place.
    /// - Throws: ``ResultCode/corrupt`` if the page does not match its authentication code.
    package func replayPage(_ number: UInt32, _ bytes: UnsafeMutableRawBufferPointer) throws(DatabaseError) {
        try check(sqlcipherkit_replay_page(liveOutsideHooks(), "main", number, bytes.baseAddress))
    }

    /// Ends the replay of a commit: the database has this number of pages.
    package func endReplay(pages: UInt32) throws(DatabaseError) {
        try check(sqlcipherkit_end_replay(liveOutsideHooks(), "main", pages))
        changedWithoutHook()
    }
}
