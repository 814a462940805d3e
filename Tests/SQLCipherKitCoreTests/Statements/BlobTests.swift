import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct BlobTests {
    private func make(_ size: Int = 100_000) throws -> Connection {
        let db = try Connection(.memory, key: .passphrase("k").quick)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, data, other)")
        try db.execute("INSERT INTO t VALUES (1, \(Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })), 'text'), (2, 'héllo', NULL), (3, 5, NULL)")
        return db
    }

    @Test func openBlobWithNULInNameThrows() throws {
        let db = try make()
        for (table, column) in [("t\0x", "data"), ("t", "data\0x")] {
            let error = #expect(throws: DatabaseError.self) { try db.main.openBlob(table: table, column: column, rowID: 1) }
            #expect(error?.reason == .invalidArgument)
        }
    }

    /// The region that a closure reads when it reads a blob.
    @Test func openedBlobIsARecordedRead() throws {
        let db = try make()
        let (_, region) = try db.recordingReads { try $0.main.openBlob(table: "t", column: "data", rowID: 1).close() }
        #expect(region.description == "t(data)")
    }

    @Test func blobIsReadInChunks() throws {
        let db = try make()
        let blob = try db.main.openBlob(table: "t", column: "data", rowID: 1)
        let whole = try #require(try db.fetchOne(Data.self, "SELECT data FROM t WHERE id = 1"))
        #expect(blob.count == 100_000 && blob.position == 0)
        var pieces = Data()
        while let chunk = try blob.read(upTo: 7777) { pieces += chunk }
        #expect(pieces == whole && blob.position == 100_000)
        #expect(try blob.read(upTo: 1) == nil)
        #expect(try blob.read(10, at: 50_000) == whole[50_000..<50_010] && blob.position == 100_000)
        try blob.seek(to: 99_990)
        #expect(try blob.read(upTo: 100) == whole.suffix(10))
        #expect(try blob.read(0, at: 100_000) == Data())
        try blob.reopen(rowID: 2)
        #expect(try blob.count == 6 && blob.read(upTo: 100) == Data("héllo".utf8))
    }

    @Test func blobIsWrittenInChunks() throws {
        let db = try make()
        try db.execute("UPDATE t SET data = \(ZeroBlob(count: 50_000)) WHERE id = 1")
        #expect(try db.fetchOne(Data.self, "SELECT data FROM t WHERE id = 1") == Data(count: 50_000))
        let blob = try db.main.openBlob(table: "t", column: "data", rowID: 1, forWriting: true)
        for number in 0..<50 { try blob.write(Data(repeating: UInt8(number), count: 1000)) }
        #expect(blob.position == 50_000)
        try blob.write([1, 2, 3] as [UInt8], at: 0)
        blob.close()
        let written = try #require(try db.fetchOne(Data.self, "SELECT data FROM t WHERE id = 1"))
        #expect(written.prefix(4) == Data([1, 2, 3, 0]) && (1..<50).allSatisfy { written[$0 * 1000] == UInt8($0) } && written.count == 50_000)
        #expect(ZeroBlob(sqlValue: .blob(Data(count: 5)))?.count == 5 && ZeroBlob(sqlValue: .blob(Data([1]))) == nil)
        // Undone with its transaction.
        try db.transaction { db in
            let blob = try db.main.openBlob(table: "t", column: "data", rowID: 1, forWriting: true)
            try blob.write(Data([9, 9, 9, 9]))
            blob.close()
            return .rollback(())
        }
        #expect(try db.fetchOne(Data.self, "SELECT data FROM t WHERE id = 1") == written)
    }

    @Test func invalidBlobCallsThrow() throws {
        let db = try make()
        func error(_ body: () throws -> Void) -> DatabaseError? {
            do { try body() } catch { return error as? DatabaseError }
            return nil
        }
        let blob = try db.main.openBlob(table: "t", column: "data", rowID: 1, forWriting: true)
        for body in [
            { try blob.seek(to: -1) }, { try blob.seek(to: 100_001) }, { _ = try blob.read(1, at: 100_000) }, { _ = try blob.read(-1, at: 0) },
            { _ = try blob.read(1, at: .max) }, { _ = try blob.read(.max, at: 1) }, { try blob.write(Data(count: 11), at: 99_990) },
            { _ = try blob.read(upTo: 0) },
        ] as [() throws -> Void] {
            #expect(error(body)?.reason == .invalidArgument)
        }
        for (table, column, row) in [("t", "data", 9), ("t", "none", 1), ("none", "data", 1), ("t", "data", 3), ("t", "other", 2)] as [(String, String, Int64)] {
            #expect(error { _ = try db.main.openBlob(table: table, column: column, rowID: row) }?.code == .error)
        }
        // SQLite opens no blob beside a generated column, and says so.
        try db.execute(SQLScript("CREATE TABLE made(data, size AS (length(data))); INSERT INTO made VALUES (x'0102')"))
        let refused = error { _ = try db.main.openBlob(table: "made", column: "data", rowID: 1) }
        #expect(refused?.code == .error && refused?.message == "cannot open table with generated columns: made")
        let reader = try db.main.openBlob(table: "t", column: "data", rowID: 1)
        #expect(error { try reader.write(Data([1])) }?.reason == .misuse)
        #expect(error { try db.execute("INSERT INTO t(data) VALUES (\(ZeroBlob(count: -1)))") }?.reason == .invalidArgument)
        #expect(error { try db.execute("INSERT INTO t(data) VALUES (\(ZeroBlob(count: 2_000_000_000)))") }?.code.primary == .tooBig)
        // A row that has changed.
        try db.execute("UPDATE t SET other = 'new' WHERE id = 1")
        #expect(error { _ = try blob.read(1, at: 0) }?.code == .abort)
        #expect(error { try blob.write(Data([1])) }?.code == .abort)
        #expect(error { try blob.reopen(rowID: 3) } != nil)
        #expect(error { _ = try blob.read(1, at: 0) } != nil)
        let again = try db.main.openBlob(table: "t", column: "data", rowID: 1)
        blob.close()
        blob.close()
        #expect(error { _ = try blob.read(upTo: 1) }?.reason == .closed)
        db.close()
        #expect(error { _ = try again.read(upTo: 1) }?.reason == .closed)
        #expect(error { try again.reopen(rowID: 1) }?.reason == .closed)
        #expect(error { try again.seek(to: 0) }?.reason == .closed)
        again.close()
        #expect(error { _ = try db.main.openBlob(table: "t", column: "data", rowID: 1) }?.reason == .closed)
    }

    /// Whatever a call has met, the next row can be had by the same blob.
    @Test(arguments: [false, true]) func reopenedBlobReadsNextRowAfterError(forWriting: Bool) throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE r(id INTEGER PRIMARY KEY, data)")
        try db.execute("INSERT INTO r VALUES (1, x'01'), (2, x'0202'), (3, NULL), (4, 5)")
        let failures: [(Blob) throws -> Void] = [
            { try $0.reopen(rowID: 99) }, { try $0.reopen(rowID: 3) }, { try $0.reopen(rowID: 4) },
            { blob in
                try db.execute("UPDATE r SET data = x'01' WHERE id = 1")
                _ = try blob.read(1, at: 0)
            },
        ]
        for fail in failures {
            for times in 1...2 {
                let blob = try db.main.openBlob(table: "r", column: "data", rowID: 1, forWriting: forWriting)
                for _ in 0..<times { #expect(throws: DatabaseError.self) { try fail(blob) } }
                try blob.reopen(rowID: 2)
                #expect(try blob.count == 2 && blob.read(upTo: 9) == Data([2, 2]))
                try blob.reopen(rowID: 1)
                #expect(try blob.read(upTo: 9) == Data([1]))
                if forWriting { try blob.write(Data([1]), at: 0) }
                blob.close()
                #expect(!db.isInTransaction)
                try db.transaction { db in try db.execute("UPDATE r SET data = data WHERE id = 2") }
            }
        }
    }

    @Test func oversizedZeroBlobThrowsTooBig() throws {
        let db = try Connection(.memory)
        for count in [1_000_000_001, 2_000_000_000, .max] {
            let error = #expect(throws: DatabaseError.self) { try db.execute("SELECT \(ZeroBlob(count: count))") }
            #expect(error?.code == .tooBig)
            #expect(error?.message == "a blob of \(count) bytes exceeds the limit of the connection")
        }
    }

    @Test func blobChunksArriveAsynchronously() async throws {
        let db = try make()
        let blob = try db.main.openBlob(table: "t", column: "data", rowID: 1)
        try blob.seek(to: 10)
        var sizes: [Int] = [], sum = 10
        for try await chunk in blob.chunks(of: 30_000) {
            sizes.append(chunk.count)
            #expect(chunk.first == UInt8(truncatingIfNeeded: sum &* 31))
            sum += chunk.count
        }
        #expect(sizes == [30_000, 30_000, 30_000, 9_990])
    }

    /// A connection that is lent takes its blobs back.
    @Test func queueClosesBlobsThatEscape() throws {
        let folder = try TemporaryFolder()
        let queue = try DatabaseQueue(.file(folder.path("a.db")), key: .passphrase("k").quick)
        nonisolated(unsafe) var escaped: Blob?
        try queue.write { db in
            try db.execute("CREATE TABLE t(x)")
            try db.execute("INSERT INTO t VALUES (\(ZeroBlob(count: 100)))")
            let blob = try db.main.openBlob(table: "t", column: "x", rowID: 1, forWriting: true)
            try blob.write(Data([1, 2]))
            // A blob that is open for writing keeps the transaction from its end.
            blob.close()
        }
        try queue.read { db in
            escaped = try db.main.openBlob(table: "t", column: "x", rowID: 1)
            #expect(try escaped?.read(upTo: 2) == Data([1, 2]))
        }
        #expect(throws: DatabaseError.self) { _ = try escaped?.read(upTo: 5) }
        // A handle that has ended holds nothing open.
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        try other.transaction(.exclusive) { _ in }
        #expect(try queue.read { try $0.fetchOne(Data.self, "SELECT x FROM t") }?.prefix(3) == Data([1, 2, 0]))
        escaped = nil
    }

    /// A blob much larger than the memory that it passes through; 1 GB with SQLCIPHERKIT_LONG_TESTS.
    @Test func largeBlobPassesThroughLittleMemory() throws {
        let folder = try TemporaryFolder()
        let megabytes = LongTests.areOn ? 950 : 48
        let outcome = try Command.run(try BuildProducts.executable("FaultDriver"), ["blob", folder.path("a.db"), "k", "\(megabytes)"])
        let numbers = outcome.output.split(separator: " ").compactMap { Int($0) }
        #expect(outcome.status == 0 && numbers.count == 2, "\(outcome)")
        #expect(numbers.first == megabytes * 1_000_000)
        // KiB beyond what the process had before.
        #expect(try #require(numbers.last) < 16 * 1024, "\(numbers)")
    }
}
