import Foundation
import SQLCipherKit

/// Full-text search.
extension Cases {
    static var search: [ContractCase] { searching + words + indexes + extensions }

    private static func notes(_ t: Trial) throws -> FullTextIndex { try t.schema.fullText("note_fts") }

    private static func shown(_ found: FullTextSearch.Results) -> String {
        found.hits.map { "\($0.table) \($0.rowID) \($0.snippet.map { "\($0)" } ?? "")" }.joined(separator: "; ") + " of \(found.total)"
    }

    private static var searching: [ContractCase] {
        family("search",
            call("what is typed") { t in try shown(notes(t).search(t.text("text", "frist note"), limit: 5)) },
            call("a built query") { t in try built(t) },
            call("columns by name") { t in try columnsByName(t) },
            call("with all options") { t in try allOptions(t) },
            call("in SQL") { t in try optionsInSQL(t) },
            call("a ranking by name") { t in try rankingByName(t) },
            call("several indexes") { t in try several(t) },
            call("records") { t in
                let search = FullTextSearch(t.text("text", "note")), index = try notes(t)
                let hits = try index.search(search).hits
                return try (
                    index.records(Note.self, search).map { $0.record.title ?? "" }, index.records(Paper.self, of: hits).count,
                    t.db.records(Note.self, of: hits).map { $0.record.title ?? "" }
                )
            },
            call("marks") { t in
                let text = t.text("text", Secrets.value), shown = HighlightedText(text, ranges: [text.startIndex..<text.endIndex])
                try t.same(text, shown.marked(from: "", to: ""))
                let own = try t.db.fetchOne(String.self, "SELECT highlight(words, 0, \(text), \(text)) FROM words WHERE words MATCH 'sentence'")
                return own != nil && ("x" as HighlightedText).marked() == "x"
            })
    }

    private static func built(_ t: Trial) throws -> Any {
        let text = t.text("text", "note")
        let either = FTS5Query.any(.initial(text), "the", .near([text, "first"], within: 3), .column("body", .phrase("first")))
        let neither: FTS5Query = .all(.phrase("nothing"), .columns(["title"], .phrase(text)), .excludingColumns(["body"], .phrase("x")))
        let count = try t.db.fetchOne(Int.self, "SELECT count(*) FROM words WHERE words MATCH \(FTS5Query.phrase("words"))")
        let query: FTS5Query = FTS5Query.phrase(text).or(.prefix("not")).and(either).excluding(neither)
        return try (shown(notes(t).search(query)), count ?? 0)
    }

    private static func columnsByName(_ t: Trial) throws -> Any {
        let name = t.text("column", "body", .name)
        var search = FullTextSearch(FTS5Query.column(name, "note"))
        (search.retrievedColumns, search.highlightedColumns) = ([name], [name])
        search.snippet = .column(name, words: 4, ellipsis: t.text("ellipsis", "…"))
        return try notes(t).search(search).hits.map { hit in (hit.highlights[name]?.marked() ?? "", try hit[name] as String) }
    }

    private static func allOptions(_ t: Trial) throws -> Any {
        let text = t.text("value", Secrets.value), word = t.text("word", "reynard")
        var search = FullTextSearch(t.text("text", "note reynard"), limit: 10)
        search.filter = "title <> \(text)"
        search.weights = [1, 2]
        search.synonyms = [FullTextSearch.Synonym(word, finds: ["first"])] + FullTextSearch.Synonym.group([word, "last"])
        search.stopWords = [t.text("stop", "the")]
        search.typoTolerance = FullTextSearch.TypoTolerance(oneTypoFrom: 3, twoTyposFrom: 6)
        search.decay = FullTextSearch.Decay("n + length(\(text)) * 0", halfLife: 3)
        search.popularity = FullTextSearch.Popularity("n", pivot: 1)
        search.facets = ["n": .ranges("n", bounds: [1, 2]), "tags": .elements("meta ->> '$.tags'"), "days": .dates("'2026-11-27'", by: .month)]
        search.facets[text] = .values("title || \(text)")
        search.countsAll = true
        let found = try notes(t).search(search)
        var count = 0
        for facet in found.facets[text] ?? [] {
            guard case .text(let title) = facet.value else { continue }
            guard title.utf8.suffix(text.utf8.count).elementsEqual(text.utf8) else { throw BrokenPromise("a facet is \(title.debugDescription)") }
            count += 1
        }
        return (found.hits.count, count, found.facets.count)
    }

    private static func optionsInSQL(_ t: Trial) throws -> Any {
        var search = FullTextSearch("note")
        search.filter = SQL(raw: t.text("filter", "n > 0", .sql))
        search.order = .sql(SQL(raw: t.text("order", "title DESC", .sql)))
        search.facets = ["a": .values(SQL(raw: t.text("facet", "title", .sql)))]
        return try shown(notes(t).search(search))
    }

    private static func rankingByName(_ t: Trial) throws -> Any {
        var search = FullTextSearch(FTS5Query.phrase("note"))
        search.rankFunction = t.text("function", "bm25", .name)
        return try shown(notes(t).search(search))
    }

    private static func several(_ t: Trial) throws -> Any {
        let indexes = try [notes(t), t.schema.fullText("words")], text = t.text("text", "other note words")
        let adapted = try t.db.search(FullTextSearch(text), in: indexes) { search, index in
            if index.name == "note_fts" { search.filter = "title <> \(text)" }
        }
        return try (shown(t.db.search(text, in: indexes, limit: 3)), adapted.hits.count)
    }

    private static var words: [ContractCase] {
        family("search-words",
            call("terms") { t in
                let index = try notes(t), prefix = t.text("prefix", "f")
                return try (index.terms(prefix: prefix, byFrequency: true, limit: 9).map(\.term), index.terms(prefix: prefix, byColumn: true).map { $0.column ?? "" })
            },
            call("suggestions and corrections") { t in
                let index = try notes(t), text = t.text("text", "frist not")
                return try (index.suggestions(for: text).map(\.term), index.corrections(of: text, limit: 3).map(\.term), index.correctedText(text) ?? "")
            },
            call("tokens") { t in
                let text = t.text("text", "The first note")
                let tokens = try notes(t).tokens(of: text, for: .document), others = try FTS5Tokenizer.porter(.unicode61()).tokens(of: text, on: t.db)
                for token in tokens where token.range.upperBound > text.endIndex { throw BrokenPromise("a token beyond the text") }
                return (tokens.map(\.token), others.map(\.token))
            },
            call("a tokenizer by name") { t in
                let tokenizer = FTS5Tokenizer.custom(t.text("tokenizer", "ascii", .name), arguments: ["separators", t.text("argument", "x")])
                return try tokenizer.tokens(of: "one xtwo", on: t.db).map(\.token)
            })
    }

    private static var indexes: [ContractCase] {
        family("search-indexes",
            call("what there is", differs: [.utf16]) { t in
                let index = try t.schema.fullText(t.text("index", "note_fts", .name))
                return try (index.columns(), index.passesIntegrityCheck(), index.size().total > 0, index.settings.count, index.connection.isOpen, t.schema.fullTextIndexes().map(\.name), index.languages().count)
            },
            call("of the connection", refusing: [.attached]) { t in try t.db.fullText(t.text("index", "words", .name)).columns() })
        + family("search-create",
            call("of a table", .writes) { t in
                var last = 0
                let table = FTS5Table(
                    t.text("name", "made", .new), columns: [.init(t.text("column", "title", .name)), .unindexed("body"), .json("tags", in: "meta", at: JSONPath(t.text("key", "tags")))],
                    content: .external(table: t.text("table", "note", .name)), tokenizer: .unicode61(separators: t.text("separators", "x")), prefixes: [2])
                try t.schema.create(table) { last = $0.completed }
                t.then {
                    guard t.text("table", "note", .name) == "note", t.text("separators", "x") == "x" else { return }
                    let found = try t.schema.fullText(t.text("name", "made", .new)).search("second")
                    try t.same([2], found.hits.map(\.rowID))
                    try t.same("[second]", found.hits.first?.snippet?.marked())
                }
                return last
            },
            call("of its own", .writes) { t in
                let name = t.text("name", "made", .new), value = t.text("value", Secrets.value), column = t.text("column", "x", .new)
                let table = FTS5Table(name, columns: [.init(column)], detail: .column, storesColumnSizes: false)
                if t.subject.kind == .attached { try t.schema.create(table) } else { try t.db.create(table, ifNotExists: name == "made") }
                t.then {
                    try t.db.execute("INSERT INTO \(identifier: t.schema.name).\(identifier: name) VALUES (\(value))")
                    try t.same(value, t.db.fetchOne(String.self, "SELECT \(identifier: column) FROM \(identifier: t.schema.name).\(identifier: name)"))
                    _ = try t.schema.fullText(name).search(FTS5Query.phrase(value))
                }
                return 0
            },
            call("an expression", .writes) { t in
                try t.schema.create(FTS5Table("made", columns: [.init("x", expression: t.text("expression", "title || body", .sql))], content: .external(table: "note")))
            })
        + family("search-upkeep",
            call("rebuild", .writes, prepare: { try $0.db.execute("INSERT INTO note_fts(note_fts) VALUES ('delete-all')") }) { t in try notes(t).rebuild() },
            call("optimize", .writes, prepare: { t in for i in 0..<4 { try t.db.execute("INSERT INTO words VALUES ('more \(raw: "\(i)")')") } }) { t in
                try t.schema.fullText("words").optimize()
            },
            call("merge", .writes, prepare: { t in for i in 0..<4 { try t.db.execute("INSERT INTO words VALUES ('more \(raw: "\(i)")')") } }) { t in
                try t.schema.fullText("words").merge(pages: 100, everything: true)
            },
            call("deleteAll", .writes) { t in try t.schema.fullText(t.text("index", "note_fts", .name)).deleteAll() },
            call("drop", .writes) { t in try t.schema.fullText(t.text("index", "words", .name)).drop() },
            call("configure", .writes) { t in
                let index = try notes(t), rank = t.text("rank", "bm25(10.0, 5.0)")
                try index.configure(.rank(rank))
                t.then { try t.same(SQLValue.text(rank), index.settings["rank"]) }
                return 0
            },
            call("configure a number", .writes) { t in try notes(t).configure(.secureDelete(true)) })
    }

    private struct Shouting: FTS5TokenFilter {
        let base = FTS5Tokenizer.unicode61()
        let secret: String
        func prepare(_ tokens: (String) throws -> [String]) throws -> [String] { try tokens("a b") }
        func filter(_ token: FTS5Token, for purpose: FTS5Tokenizer.Purpose, _ state: [String], into tokens: inout FTS5Token.Sink) throws {
            tokens.add(token.bytes, range: token.range)
            tokens.add(secret, range: token.range, isColocated: true)
        }
    }

    private static var extensions: [ContractCase] {
        family("search-extensions",
            call("tokenizers", .settles) { t in
                let name = t.text("name", "made", .new), word = t.text("word", "the")
                var found: [[String]] = []
                for made in [SQLExtension.stopWords([word], as: name), .synonyms([[word, "a"]], as: name), .compatibilityFolding(as: name), .cjkTokenizer(as: name), .codeTokenizer(as: name)] {
                    try t.db.register(made)
                    found.append(try FTS5Tokenizer.custom(name).tokens(of: "The first \(word)", for: [.query, .document], on: t.db).map(\.token))
                }
                return found
            },
            call("a filter in Swift", .settles) { t in
                let word = t.text("word", "loud"), argument = t.text("argument", "x")
                try t.db.register(.tokenFilter(Shouting(secret: word), as: "made"))
                let tokens = try FTS5Tokenizer.custom("made").tokens(of: "a", on: t.db)
                guard tokens.isEmpty || tokens.contains(where: { Array($0.token.utf8) == Array(word.utf8) }) else { throw BrokenPromise("\(tokens)") }
                try t.db.register(.tokenFilter(as: "other") { arguments in
                    Shouting(secret: arguments.first ?? "")
                })
                let others = try FTS5Tokenizer.custom("other", arguments: [argument]).tokens(of: "a b", on: t.db).map(\.token)
                if !argument.isEmpty { try t.same(argument, others[1]) }
                return others
            },
            call("a ranking in Swift", .settles) { t in
                let name = t.text("name", "made", .new)
                try t.db.register(.ranking(name) { row in
                    guard try row.instances().count > 0, try row.rowCount() > 0, try row.totalSize() > 0, try row.columnSize() >= 0, row.phraseSize(0) > 0 else { return 0 }
                    return try -Double(row.text(0)?.utf8.count ?? 0)
                })
                var search = FullTextSearch(FTS5Query.phrase("note"))
                search.rankFunction = name
                return try notes(t).search(search).hits.map(\.rowID)
            },
            call("what throws in a tokenizer", .settles) { t in
                struct Failure: Error {}
                try t.db.register(.tokenFilter(as: "made") { (_: [String]) -> Shouting in throw Failure() })
                do { return try FTS5Tokenizer.custom("made").tokens(of: t.text("text", "a"), on: t.db).count } catch let error as DatabaseError where error.reason != .closed { return reason(error) }
            })
    }
}
