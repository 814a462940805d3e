import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// The change of a key with this module alone. SQLCipherKitFilesTests has the rest.
@Suite struct KeyChangeTests {
    let folder: TemporaryFolder
    private var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func reason(_ body: () throws -> Void) -> DatabaseError.Reason? { (#expect(throws: DatabaseError.self) { try body() })?.reason }

    @Test func keyIsChangedInPlace() throws {
        let old = try DatabaseKey.passphrase("old").quick, new = try DatabaseKey.passphrase("new").quick
        let db = try Connection(.file(path), key: old)
        try db.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES (7)"))
        var last: DatabaseProgress?
        try db.changeKey(to: .passphrase("new")) { last = $0 }
        #expect(last?.fractionCompleted == 1)
        #expect(try db.fetchOne(Int.self, "SELECT x FROM t") == 7)
        db.close()
        #expect(reason { try Connection(.file(path), key: old).close() } == .wrongKeyOrNotADatabase)
        #expect(try Connection(.file(path), key: new).fetchOne(Int.self, "SELECT x FROM t") == 7)
    }

    @Test func keyOfAnAttachedDatabaseIsChanged() throws {
        let db = try Connection(.memory)
        let archive = try db.attach(.file(path), as: "archive", key: .passphrase("old").quick)
        try db.execute("CREATE TABLE archive.t(x)")
        try archive.changeKey(to: .passphrase("new"))
        try archive.detach()
        #expect(try Connection(.file(path), key: .passphrase("new").quick).main.has("t"))
    }

    /// Key slots would hold another key, whether or not this program knows how to read them.
    @Test func changeKeyWithKeySlotsThrows() throws {
        let key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        let db = try Connection(.file(path), key: key)
        try db.execute("CREATE TABLE t(x)")
        try Data([1]).write(to: URL(fileURLWithPath: path + ".keys"))
        #expect(reason { try db.changeKey(to: .passphrase("new")) } == .misuse)
        db.close()
        #expect(try Connection(.file(path), key: key).main.has("t"))
    }
}
