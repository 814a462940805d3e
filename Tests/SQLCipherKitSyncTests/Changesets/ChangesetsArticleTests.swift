import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// The examples of the article "Changesets", in its order.
@Suite struct ChangesetsArticleTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ name: String) throws -> Connection {
        let copy = try Connection(.file(folder.path(name)), key: .raw([UInt8](repeating: 1, count: 32)))
        try copy.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        try copy.execute("INSERT INTO note VALUES (1, 'x')")
        return copy
    }

    private func titles(_ copy: Connection) throws -> [String] {
        try copy.fetchAll(String.self, "SELECT title FROM note ORDER BY id")
    }

    @Test func changesetsArticleDiffsDatabases() throws {
        let yesterday = try open("a.db"), today = try open("b.db"), replica = try open("c.db")
        try today.execute("UPDATE note SET title = 'new'")
        let diff = try DatabaseDiff(from: yesterday.main, to: today.main)
        for table in try diff.summary() where !table.isSame {
            print(table.name, table.inserted, table.updated, table.deleted)
        }
        for table in try diff.summary() where !table.isSame {
            #expect((table.name, table.inserted, table.updated, table.deleted) == ("note", 0, 1, 0))
        }
        let script = try diff.sql()
        #expect(script.contains(#"UPDATE "note" SET "title" = 'new' WHERE "id" = 1;"#))
        try diff.apply(to: replica)
        #expect(try titles(replica) == ["new"])
    }

    @Test func changesetsArticleAppliesChangesets() throws {
        let laptop = try open("a.db"), phone = try open("b.db")
        let mine = try laptop.main.recordingChanges { db in
            try db.execute("UPDATE note SET title = 'Foxes' WHERE id = 1")
        }
        let theirs = try phone.main.recordingChanges { db in
            try db.execute("INSERT INTO note(id, title) VALUES (7, 'Owls')")
        }
        try theirs.apply(to: laptop) { conflict in
            conflict.kind == .different ? .replace : .omit
        }
        try mine.apply(to: phone) { conflict in .omit }
        for copy in [laptop, phone] { #expect(try titles(copy) == ["Foxes", "Owls"]) }
        try mine.inverted().apply(to: phone)

        var options = Changeset.Options()
        options.triggers = .essentialOnly
        options.runsForeignKeyActions = false
        let outcome = try theirs.apply(
            to: laptop, options: options,
            policy: Changeset.Policy(.replace, tables: ["tag": .omit]))
        for table in outcome.tables where table.applied < table.changes {
            print(table.name, table.applied, table.omitted)
        }
        #expect(try titles(phone) == ["x", "Owls"])
    }
}
