import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing

/// A short spelling has the same effect as the call that it stands for.
@Suite struct SpellingTests {
    struct Word: SQLRecord, Equatable {
        var id: Int64?
        var text: String
        var other: String?
        var author: Int64?
        static let writer = belongsTo(Author.self, by: \.author)
        static let table = SQLTable(of: Word.self) {
            $0.id.primaryKey()
            $0.text
            $0.other
            $0.author.references(Author.self)
        }
    }

    static let texts = ["", "a", "A", "ab", "ba", "aba", "a\u{0}b", "b\u{0}", "\u{e9}", "e\u{301}", "日本", "本", "%", "_a", "*", "[a]"]
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.create(Author.table)
        try db.create(Word.table)
        try db.insert([Author(id: 1, name: "x"), Author(id: 2, name: "y")])
        try db.insert(Self.texts.enumerated().map { index, text in
            Word(text: text, other: index % 3 == 0 ? nil : text, author: [1, 2, nil][index % 3])
        })
    }

    @Test func textConditionsAreSwiftsOwn() throws {
        let all = try db.fetchAll(Word.order(\.id))
        func starts(_ text: String, _ part: String) -> Bool { text.utf8.starts(with: part.utf8) }
        func ends(_ text: String, _ part: String) -> Bool { text.utf8.reversed().starts(with: part.utf8.reversed()) }
        func contains(_ text: String, _ part: String) -> Bool {
            let (text, part) = (Array(text.utf8), Array(part.utf8))
            return part.isEmpty || text.indices.contains { text[$0...].starts(with: part) }
        }
        for part in Self.texts {
            let ways: [((SQLColumns<Word>) -> SQLPredicate, (Word) -> Bool)] = [
                ({ $0.text.hasPrefix(part) }, { starts($0.text, part) }), ({ $0.text.hasSuffix(part) }, { ends($0.text, part) }),
                ({ $0.text.contains(part) }, { contains($0.text, part) }), ({ !$0.text.contains(part) }, { !contains($0.text, part) }),
                ({ $0.other.hasPrefix(part) }, { $0.other.map { starts($0, part) } ?? false }),
                ({ $0.other.hasSuffix(part) }, { $0.other.map { ends($0, part) } ?? false }),
                ({ $0.other.contains(part) }, { $0.other.map { contains($0, part) } ?? false }),
            ]
            for (number, (sql, swift)) in ways.enumerated() {
                let found = try db.fetchAll(Word.filter(sql).order { $0.id })
                #expect(found == all.filter(swift), "\(part.debugDescription), \(number)")
            }
        }
    }

    @Test func valuesContainAnExpression() throws {
        let ids: [Int64] = [1, 3, 90]
        #expect(try db.count(Word.filter { ids.contains($0.id) }) == 2)
        #expect(try db.count(Word.filter { !Set(["a", "b"]).contains($0.other) }) == db.count(Word.filter { !$0.other.in(["a", "b"]) }))
        #expect(try db.count(Word.filter { (1...3).contains($0.id) }) == 3)
        let authors = Author.filter { $0.name == "x" }.select { $0.id }
        #expect(try db.count(Word.filter { authors.contains($0.author) }) == db.count(Word.filter { $0.author == 1 }))
    }

    @Test func tuplesAreTermsOfAnOrder() throws {
        let pairs = Word.order { ($0.author, $0.text) }, longer = Word.order { ($0.author.descending, $0.text, $0.id.ascending) }
        #expect(try db.text(pairs) == db.text(Word.order { $0.author; $0.text }))
        #expect(try db.text(longer) == db.text(Word.order { $0.author.descending; $0.text; $0.id }))
        #expect(try db.text(Word.group { ($0.author, $0.text) }.select { $0.text.count() })
            == db.text(Word.all.group { $0.author; $0.text }.select { $0.text.count() }))
    }

    @Test func associationsCanBeJoined() throws {
        let pairs = try db.fetchAll(Word.join(Word.writer).order { $0.id })
        #expect(pairs.map(\.0.id) == (try db.fetchAll(Word.filter { $0.author != nil }.order { $0.id }).map(\.id)))
        #expect(pairs.allSatisfy { $0.author == $1.id })
        #expect(try db.fetchAll(Word.leftJoin(Word.writer)).count == Self.texts.count)
        let error = #expect(throws: DatabaseError.self) { try db.count(Word.join(Word.writer.filter { $0.name == "x" })) }
        #expect(error?.reason == .misuse)
    }

    @Test func severalRecordsAreWrittenAtOnce() throws {
        var words = try db.fetchAll(Word.order(\.id).limit(3))
        for index in words.indices { words[index].text += "!" }
        try db.update(words)
        #expect(try db.fetchAll(Word.order(\.id).limit(3)) == words)
        var more = words + [Word(text: "new")]
        more[0].text = "?"
        try db.save(&more)
        #expect(try more[3].id != nil && db.fetchOne(Word.self, id: 1)?.text == "?")
        // All or none.
        #expect(throws: DatabaseError.self) { try db.update([Word(id: 1, text: "lost"), Word(id: 900, text: "")]) }
        #expect(try db.fetchOne(Word.self, id: 1)?.text == "?")
        #expect(try db.delete(words + [Word(id: 900, text: "")]) == 3)
        #expect(try db.updateChanges(&more[3]) { $0.text = "changed" } == ["text"])
        #expect(try db.updateChanges(&more[3]) { _ in } == [])
        #expect(throws: CancellationError.self) {
            try db.updateChanges(&more[3]) {
                $0.text = "lost"
                throw CancellationError()
            }
        }
        #expect(try more[3].text == "changed" && db.find(Word.self, id: more[3].id) == more[3])
        let count = try db.count(Word.all)
        #expect(try db.deleteAll(Word.self) == count && db.count(Word.all) == 0)
    }

    @Test(arguments: [nil, ConflictResolution.ignore, .replace]) func arraysAreInsertedAsByInsertAll(conflict: ConflictResolution?) throws {
        let before = try db.count(Word.all)
        let given = [Word(text: "x"), Word(id: 1, text: "y"), Word(text: "z")]
        var (own, other) = (given, given)
        func count(_ body: () throws -> Int) -> Int? { try? body() }
        let found = try db.transaction { db -> TransactionEnd<(Int?, Int)> in
            .rollback((count { try db.insert(given, onConflict: conflict) }, try db.count(Word.all)))
        }
        #expect(found.0 == (conflict == nil ? nil : conflict == .ignore ? 2 : 3))
        #expect(found.1 == (conflict == nil ? before : before + 2))
        for isArray in [true, false] {
            let counted = try db.transaction { db -> TransactionEnd<Int?> in
                .rollback(count {
                    isArray ? try db.insert(&own, onConflict: conflict) : try db.insertAll(&other, onConflict: conflict)
                })
            }
            #expect(counted == found.0)
        }
        #expect(own == other && (own == given) == (conflict == nil))
    }

    @Test func sqlIsJoinedAndAppended() throws {
        let conditions: [SQL] = ["id > \(1)", "text <> \("a")", "id < \(4)"]
        var sql: SQL = "SELECT id FROM word WHERE "
        sql.append(conditions.joined(separator: " AND "))
        sql += " ORDER BY id LIMIT \(1)"
        #expect(sql.text == "SELECT id FROM word WHERE id > ? AND text <> ? AND id < ? ORDER BY id LIMIT ?")
        #expect(try db.fetchAll(Int.self, sql) == [3])
        #expect([SQL]().joined().text == "")
    }
}
