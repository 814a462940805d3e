import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

private struct Title: SQLRecord, Equatable {
    static let tableName = "titles"
    static let table = SQLTable(of: Title.self) {
        $0.id.primaryKey()
        $0.title
    }
    var id: Int64
    var title: String
}

private struct Word: SQLRecord {
    var id: Int64?
    var text: String
    var kind = 0

    static let table = SQLTable(of: Word.self) {
        $0.id.primaryKey()
        $0.text.named("word")
        $0.kind
        SQLIndex("word_text", on: [.column($0.text, isDescending: true)])
        SQLConstraint.unique($0.kind, $0.text)
    }

    enum CodingKeys: String, CodingKey { case id, text = "word", kind }
}

private struct HTTPRequest: SQLRecord { var id: Int64? }
private struct URL2: SQLRecord { var id: Int64? }
private struct ABTest: SQLRecord { var id: Int64? }
private struct X: SQLRecord { var id: Int64? }
private struct JSON: SQLRecord { var id: Int64? }

/// Not described: the view's column `id` is its key.
private struct Undescribed: SQLRecord, Equatable {
    static let tableName = "titles"
    var id: Int64
    var title: String
}

/// The result of writing a record, for a row that it has met, or not.
@Suite struct RecordViewTests {
    private func make(_ trigger: String) throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(
            SQLScript(
                """
                CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT);
                INSERT INTO note VALUES (1, 'a');
                CREATE VIEW titles AS SELECT id, title FROM note;
                CREATE TRIGGER set_title INSTEAD OF UPDATE ON titles BEGIN \(trigger); END;
                CREATE TRIGGER drop_title INSTEAD OF DELETE ON titles BEGIN DELETE FROM note WHERE id = old.id; END;
                CREATE TRIGGER new_title INSTEAD OF INSERT ON titles BEGIN
                    INSERT OR IGNORE INTO note VALUES (new.id, new.title);
                END;
                """))
        return db
    }

    @Test func undescribedViewIsWrittenByItsIDColumn() throws {
        let db = try make("UPDATE note SET title = new.title WHERE id = old.id")
        var record = try #require(try db.fetchOne(Undescribed.self, id: 1))
        record.title = "b"
        try db.update(record)
        try db.refresh(&record)
        #expect(try db.exists(Undescribed.self, id: 1) && record.title == "b")
        #expect(throws: DatabaseError.self) { try db.update(Undescribed(id: 9, title: "")) }
        try db.save(&record)
        #expect(try db.delete(Undescribed.self, id: 1))
        #expect(try db.count(Undescribed.all) == 0)
    }

    @Test func aViewWithTriggersIsWrittenLikeATable() throws {
        let db = try make("UPDATE note SET title = new.title WHERE id = old.id")
        let before = Title(id: 1, title: "a")
        try db.update(Title(id: 1, title: "b"))
        #expect(try db.fetchOne(Title.self, id: 1) == Title(id: 1, title: "b"))
        #expect(try db.updateChanges(Title(id: 1, title: "c"), from: before) == ["title"])
        let missing: [() throws -> Void] = [
            { try db.update(Title(id: 2, title: "x")) },
            { try db.updateChanges(Title(id: 2, title: "x"), from: Title(id: 2, title: "y")) },
        ]
        for missing in missing {
            let error = #expect(throws: DatabaseError.self) { try missing() }
            #expect(error?.reason == .recordNotFound)
        }
        #expect(try db.insert(Title(id: 3, title: "three"), onConflict: .ignore))
        #expect(try !db.insert(Title(id: 3, title: "three"), onConflict: .ignore))
        #expect(try db.delete(Title(id: 3, title: "three")))
        #expect(try !db.delete(Title(id: 3, title: "three")))
        #expect(try db.delete(Title.self, id: 1) && !db.delete(Title.self, id: 1))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 0)
    }

    /// A trigger may have nothing to do; the row is there all the same.
    @Test func updateThroughEmptyTriggerSucceeds() throws {
        let db = try make("SELECT 1")
        try db.update(Title(id: 1, title: "b"))
        #expect(try db.updateChanges(Title(id: 1, title: "b"), from: Title(id: 1, title: "a")) == ["title"])
        #expect(try db.fetchOne(String.self, "SELECT title FROM note") == "a")
    }

    @Test func ignoredInsertReturnsFalse() throws {
        let db = try Connection(.memory)
        try db.create(Word.table)
        var word = Word(text: "a")
        #expect(try db.insert(&word, onConflict: .ignore))
        #expect(word.id == 1)
        var second = Word(text: "a")
        #expect(try !db.insert(&second, onConflict: .ignore))
        #expect(second.id == nil)
        #expect(try db.insert(Word(text: "b"), onConflict: .ignore))
        #expect(try !db.insert(Word(text: "b"), onConflict: .ignore))
        #expect(try db.insert(Word(id: 1, text: "c"), onConflict: .replace))
        var all = [Word(text: "b"), Word(text: "d"), Word(text: "d")]
        #expect(try db.insertAll(&all, onConflict: .ignore) == 1)
        #expect(all.map(\.id) == [nil, 3, nil])
    }

    @Test func describedIndexUsesColumnName() throws {
        let db = try Connection(.memory)
        try db.create(Word.table)
        #expect(try db.main.indexes(of: "word").map { $0.terms.map(\.column) } == [["kind", "word"], ["word"]])
    }

    @Test func updateAllAcceptsOrderWithoutLimit() throws {
        let db = try Connection(.memory)
        try db.create(Word.table)
        try db.insertAll((1...5).map { Word(text: "\($0)") })
        #expect(try db.updateAll(Word.all.order { $0.text.descending }) { _, set in set(\.kind, to: 1) } == 5)
        #expect(try db.updateAll(Word.all.order { $0.text }.limit(2)) { _, set in set(\.kind, to: 2) } == 2)
        #expect(try db.fetchAll(Int.self, "SELECT kind FROM word ORDER BY id") == [2, 2, 1, 1, 1])
        #expect(try db.deleteAll(Word.filter { $0.kind == 1 }.order { $0.text }) == 3)
    }

    @Test func tableNameLowercasesLeadingInitials() {
        #expect([HTTPRequest.tableName, URL2.tableName, ABTest.tableName, X.tableName, JSON.tableName, Word.tableName]
            == ["httpRequest", "url2", "abTest", "x", "json", "word"])
    }
}
