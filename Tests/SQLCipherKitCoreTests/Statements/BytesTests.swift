import Foundation
import SQLCipherKitCore
import Testing

/// Text and blobs come back byte for byte.
@Suite struct BytesTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(x)")
    }

    private func store(_ value: some SQLValueConvertible) throws {
        try db.execute("DELETE FROM t")
        try db.execute("INSERT INTO t VALUES (?)", [value])
    }

    @Test func emptyDataAndTextAreNotNull() throws {
        try store(Data())
        #expect(try db.fetchOne(Data.self, "SELECT x FROM t") == Data())
        #expect(try db.fetchOne([UInt8].self, "SELECT x FROM t") == [])
        #expect(try db.fetchOne(String.self, "SELECT typeof(x) || length(x) FROM t") == "blob0")
        try store([UInt8]())
        #expect(try db.fetchOne(String.self, "SELECT typeof(x) FROM t") == "blob")
        try store("")
        #expect(try db.fetchOne(String.self, "SELECT x FROM t") == "")
        #expect(try db.fetchOne(String.self, "SELECT typeof(x) FROM t") == "text")
        let optional: Data? = Data()
        try store(optional)
        #expect(try db.fetchOne(SQLValue.self, "SELECT x FROM t") == .blob(Data()))
    }

    @Test(arguments: ["\0", "a\0b", "\0\0", "ends\0", "🎈\0é", "a\u{301}\u{1F469}\u{200D}\u{1F4BB}"]) func textWithNULRoundTrips(_ text: String) throws {
        try store(text)
        let back = try #require(try db.fetchOne(String.self, "SELECT x FROM t"))
        #expect(Array(back.utf8) == Array(text.utf8))
        #expect(try db.fetchOne(Int.self, "SELECT octet_length(x) FROM t") == text.utf8.count)
        try store(text[...])
        #expect(try db.fetchOne(Data.self, "SELECT x FROM t") == Data(text.utf8))
        #expect(try db.fetchOne(SQLValue.self, "SELECT x FROM t") == .text(text))
    }

    @Test func blobsRoundTripEveryByte() throws {
        for count in [1, 255, 4096, 100_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try store(bytes)
            #expect(try db.fetchOne([UInt8].self, "SELECT x FROM t") == bytes)
            try store(Data(bytes)[(count / 2)...])
            #expect(try db.fetchOne(Data.self, "SELECT x FROM t") == Data(bytes[(count / 2)...]))
        }
    }
}
