import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// Transactions so large that they are written to the file before they end, and then rolled back from the journal, which brings
/// the root of the schema back. 2,000 times; with `SQLCIPHERKIT_LONG_TESTS=1` 60,000 times.
@Suite struct RollbackJournalTests {
    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .persist]) func largeTransactionRollsBackFromJournal(
        mode: DatabaseConfiguration.JournalMode
    ) throws {
        let folder = try TemporaryFolder()
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("one").quick)
        try db.main.setJournalMode(mode)
        try db.execute("PRAGMA synchronous = OFF")
        try db.execute("PRAGMA cache_size = 5")
        try db.execute("CREATE TABLE a(x)")
        try db.execute("INSERT INTO a VALUES (-1)")
        try db.execute("CREATE TABLE c(z)")
        for _ in 0..<12 { try db.execute("INSERT INTO c VALUES (zeroblob(3000))") }
        for round in 0..<(LongTests.areOn ? 30_000 : 1000) {
            // The first page gets another initialisation vector, and so other ciphertext in the journal.
            try db.execute("UPDATE a SET x = \(round)")
            try db.begin()
            try db.execute("CREATE TABLE b(x)")
            try db.execute("UPDATE c SET z = zeroblob(2900)")
            try db.rollback()
            #expect(try db.fetchAll(String.self, "SELECT name FROM sqlite_schema") == ["a", "c"])
            #expect(try db.fetchOne(Int.self, "SELECT x FROM a") == round)
        }
        try db.execute("CREATE TABLE d(x)")
        #expect(try db.fetchAll(String.self, "PRAGMA integrity_check") == ["ok"])
        #expect(try db.fetchOne(Int.self, "SELECT sum(length(z)) FROM c") == 36_000)
    }
}
