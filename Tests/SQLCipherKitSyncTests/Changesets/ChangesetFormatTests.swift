import Foundation
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing

/// The check of a changeset's bytes before the engine reads them.
@Suite struct ChangesetFormatTests {
    /// Changes of two tables, with values of all types and of lengths that take one, two and three bytes.
    private func recorded() throws -> [Changeset] {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE a(id INTEGER PRIMARY KEY, x, y);
            CREATE TABLE b(p TEXT, q INT, z, PRIMARY KEY(p, q)) WITHOUT ROWID;
            INSERT INTO a VALUES (1, 'one', 1.5), (2, x'02', NULL); INSERT INTO b VALUES ('k', 1, 'v');
            """))
        let recorder = try ChangeRecorder(db.main)
        for (index, length) in [0, 1, 127, 128, 16_383, 16_384].enumerated() {
            try db.execute("INSERT INTO a VALUES (\(index + 10), \(String(repeating: "t", count: length)), zeroblob(\(length)))")
        }
        try db.execute("UPDATE a SET x = NULL WHERE id = 1")
        try db.execute("DELETE FROM a WHERE id = 2")
        try db.execute("UPDATE b SET z = -1")
        try db.execute("INSERT INTO b VALUES ('l', 2, 1e300)")
        return try [recorder.changeset(), recorder.patchset()]
    }

    @Test func recordedChangesetsPassTheFormatCheck() throws {
        for changes in try recorded() {
            #expect(try changes.changes().count == 10)
            #expect(try changes.concatenated(with: changes).isEmpty == false)
            if !changes.isPatchset { #expect(try changes.inverted().inverted().changes().count == 10) }
        }
    }

    /// Of bytes that are cut off within a change, nothing is read, whichever call they are given to.
    @Test func truncatedChangesetThrowsFromEachCall() throws {
        for changes in try recorded() {
            let whole = changes.data
            // The bytes within the long values are all alike.
            let ends = (1..<whole.count).filter { end in
                whole[end - 1] != UInt8(ascii: "t") && whole[end - 1] != 0 || end % 1009 == 0
            }
            #expect(ends.count > 100)
            for end in ends {
                let part = Changeset(data: Data(whole[..<end]))
                let count = try? part.changes().count
                if let count {
                    // Cut off between two changes.
                    #expect(count < 10)
                    continue
                }
                let db = try Connection(.memory)
                let calls: [(String, () throws -> Void)] = [
                    ("inverted", { _ = try part.inverted() }),
                    ("followed", { _ = try part.concatenated(with: part) }),
                    ("following", { _ = try changes.concatenated(with: part) }),
                    ("rebased", { _ = try part.rebased(by: [Changeset.Rebase(data: Data())]) }),
                    ("rebase", { _ = try changes.rebased(by: [Changeset.Rebase(data: part.data)]) }),
                    ("apply", { _ = try part.apply(to: db) { _ in .omit } }),
                ]
                for (name, call) in calls where !(name == "rebased" && changes.isPatchset) {
                    let error = #expect(throws: DatabaseError.self, "\(name) at \(end)") { try call() }
                    #expect(error?.code.primary == .corrupt, "\(name) at \(end)")
                }
            }
        }
    }

    /// Lengths that no bytes could have, as the engine's own 32 bits would understand them.
    @Test func changesetLengthsBeyondItsBytesThrow() throws {
        let header: [UInt8] = [0x54, 1, 1, 0x61, 0, 0x12, 0]
        for length: [UInt8] in [
            [1], [0x7f], [0x81, 0x00], [0x8f, 0xff, 0xff, 0xff, 0x7f], [0x90, 0x80, 0x80, 0x80, 0x00],
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], [0x80], [],
        ] {
            let changes = Changeset(data: Data(header + [3] + length))
            #expect(throws: DatabaseError.self) { try changes.changes() }
            #expect(throws: DatabaseError.self) { try changes.inverted() }
        }
        #expect(try Changeset(data: Data(header + [3, 0])).changes().count == 1)
    }
}
