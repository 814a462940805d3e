import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import TestSupport
import Testing

/// A limit for each record of an association: which rows, and by which plan.
@Suite struct AssociationLimitTests {
    struct Talk: SQLRecord, Equatable {
        var id: Int64?
        var name: String
        static let table = SQLTable(of: Talk.self) { $0.id.primaryKey(); $0.name }
        static let lines = hasMany(Line.self)
        static let newest = hasOne(Line.self).order { $0.at.descending; $0.id.descending }
        static let words = hasMany(Word.self, through: TalkWord.self)
    }
    struct Line: SQLRecord, Equatable {
        var id: Int64?
        var talk: Int64?
        var at: Int
        var text: String
        static let table = SQLTable(of: Line.self) {
            $0.id.primaryKey()
            $0.talk.references(Talk.self)
            $0.at
            $0.text
            SQLIndex("line_talk", on: [.column($0.talk), .column($0.at)])
        }
    }
    struct Word: SQLRecord, Equatable {
        var word: String
        var size: Int
        static let table = SQLTable(of: Word.self, options: .withoutRowID) { $0.word.primaryKey(); $0.size }
    }
    struct TalkWord: SQLRecord {
        var talk: Int64
        var word: String
        static let table = SQLTable(of: TalkWord.self) {
            $0.talk.references(Talk.self)
            $0.word.references(Word.self)
            SQLIndex("talkWord_talk", on: [.column($0.talk), .column($0.word)])
        }
    }

    private func filled(talks: Int, lines: Int) throws -> Connection {
        let db = try Connection(.memory)
        for table in [Talk.table, Line.table, Word.table, TalkWord.table] { try db.create(table) }
        try db.insertAll((1...Int64(talks)).map { Talk(id: $0, name: "t\($0)") })
        var random = SeededGenerator()
        for number in 0..<talks * lines {
            let talk: Int64? = number % 9 == 0 ? nil : Int64(number % talks + 1)
            try db.insert(Line(talk: talk, at: Int.random(in: 0..<lines / 2, using: &random), text: "x"))
        }
        for number in 0..<20 { try db.insert(Word(word: "w\(number)", size: number % 4)) }
        // Linked twice, a word still counts once.
        for number in 0..<talks * 6 {
            let word = Int.random(in: 0..<20, using: &random)
            try db.insert(TalkWord(talk: Int64(number % talks + 1), word: "w\(word)"))
        }
        return db
    }

    private func plan(_ db: Connection, _ body: () throws -> Void) throws -> String {
        var ran: [String] = []
        let token = try db.addTraceHook { if $0.kind == .started, $0.sql.contains("carray") { ran.append($0.sql) } }
        defer { token.remove() }
        try body()
        let sql = try #require(ran.last)
        let steps = try db.fetchAll(OwnedRow.self, SQL(raw: "EXPLAIN QUERY PLAN " + sql.replacingOccurrences(of: "?", with: "1")))
        return try steps.map { try $0["detail"] as String }.joined(separator: "\n")
    }

    @Test(arguments: [(1, 0), (3, 0), (20, 2), (0, 0), (5, 100)]) func associationLimitAppliesToEachRecord(_ limit: Int, _ offset: Int) throws {
        let db = try filled(talks: 12, lines: 30)
        let all = try db.fetchAll(Line.all), links = try db.fetchAll(TalkWord.all), words = try db.fetchAll(Word.all)
        func part<T>(_ list: [T]) -> [T] { Array(list.dropFirst(offset).prefix(limit)) }
        let lines = Talk.lines.filter { $0.at > 3 }.order { $0.at.descending; $0.id }.limit(limit, offset: offset)
        let some = Talk.words.filter { $0.size > 0 }.order { $0.size.descending; $0.word }.limit(limit, offset: offset)
        let found = try db.fetchAll(Talk.all.including(lines, some))
        #expect(found.count == 12)
        for (talk, lines, some) in found {
            let own = all.filter { $0.talk == talk.id && $0.at > 3 }.sorted { ($1.at, $0.id ?? 0) < ($0.at, $1.id ?? 0) }
            #expect(lines == part(own))
            let names = Set(links.filter { $0.talk == talk.id }.map(\.word))
            let linked = words.filter { names.contains($0.word) && $0.size > 0 }.sorted { ($1.size, $0.word) < ($0.size, $1.word) }
            #expect(some == part(linked))
        }
        for (talk, line) in try db.fetchAll(Talk.all.including(Talk.newest)) {
            #expect(line == all.filter { $0.talk == talk.id }.max { ($0.at, $0.id ?? 0) < ($1.at, $1.id ?? 0) })
        }
        // By the window, where no index leads to the rows, they are the same.
        try db.execute("DROP INDEX line_talk")
        try db.execute("DROP INDEX talkWord_talk")
        let others = try db.fetchAll(Talk.all.including(lines, some))
        #expect(others.map(\.1) == found.map(\.1) && others.map(\.2) == found.map(\.2))
    }

    @Test func limitedAssociationReadsOnlyItsRows() throws {
        let db = try filled(talks: 5, lines: 10)
        for query in [Talk.lines.order { $0.at.descending }.limit(3), Talk.lines.limit(2)] {
            let plan = try plan(db) { _ = try db.fetchAll(Talk.all.including(query)) }
            #expect(plan.contains("CORRELATED LIST SUBQUERY") && plan.contains("line_talk (talk=?)"), "\(plan)")
            #expect(plan.contains("SEARCH line USING INTEGER PRIMARY KEY (rowid=?)"), "\(plan)")
            #expect(!plan.contains("CO-ROUTINE") && !plan.contains("SCAN line"), "\(plan)")
        }
        let newest = try plan(db) { _ = try db.fetchAll(Talk.all.including(Talk.newest)) }
        #expect(newest.contains("line_talk (talk=?)") && !newest.contains("CO-ROUTINE"), "\(newest)")
        let words = try plan(db) { _ = try db.fetchAll(Talk.all.including(Talk.words.order { $0.word }.limit(1))) }
        #expect(words.contains("talkWord_talk (talk=?)") && !words.contains("CO-ROUTINE") && !words.contains("SCAN word"), "\(words)")
    }
}
