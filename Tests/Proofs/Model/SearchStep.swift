import Foundation
import SQLCipherKit

/// Full-text tables of each kind of content, their maintenance, and searches, which plain Swift answers too.
struct SearchStep: Step {
    enum Kind: String, CaseIterable, Sendable { case own, external, contentless }
    enum Call: Sendable { case create(porter: Bool), drop, rebuild, optimize, check, search(Words, limit: Int?), write(Int64, String, String), remove(Int64), typed(String) }

    var kind: Kind
    var call: Call

    private var index: String { "f_\(kind)" }
    static let words = ["red", "green", "blue", "reddish", "sky", "sea"]

    func run(in world: World) throws {
        guard !world.isAborted else { return }
        let exists = !(try world.reference.must("SELECT 1 FROM main.sqlite_schema WHERE name = ?", [.text(index)]).isEmpty)
        if case .create = call { return try create(world, exists) }
        guard exists else {
            if case .write = call { return }
            if case .remove = call { return }
            _ = try world.only(.refused(.invalidArgument), perform)
            return
        }
        switch call {
        case .search, .typed:
            if try !hasContent(world.reference) {
                try world.only(.either, perform)
                return
            }
        default: break
        }
        switch call {
        case .create: break
        case .search(let words, let limit): try world.both(perform) { try found($0, words, limit) }
        case .drop:
            try world.both(perform) { reference in
                for name in try reference.must("SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND name LIKE 'f_external%'") {
                    if kind == .external, case .text(let name) = name[0] { _ = try reference.must("DROP TRIGGER \(name.quotedSQLIdentifier)") }
                }
                _ = try reference.must("DROP TABLE main.\(index)")
                _ = try reference.must("DROP VIEW IF EXISTS main.\(index)_source")
                for suffix in ["replaced", "keys"] { _ = try reference.must("DROP TABLE IF EXISTS main.\(index)_\(suffix)") }
                return .done
            }
        case .rebuild:
            let isRefused = kind == .contentless
            try world.only(isRefused ? .error : .done, writing: "main", perform)
        case .optimize, .check: try world.only(.done, writing: "main", perform)
        case .typed(let word):
            if kind == .contentless { return }
            // Rows with the very word are among the hits.
            let expected = try ids(world.reference, .word(word))
            let hits = try world.db.fullText(index).search(word).hits
            let found = Set(hits.map { $0.rowID })
            if !expected.isSubset(of: found) { throw Mismatch(description: "typed \(word): expected \(expected), found \(found)") }
        case .write(let id, let title, let body):
            let values: [SQLValue] = [.integer(id), .text(title), .text(body)]
            let table = kind == .external ? "fdoc" : index
            try SQLStep(sql: "INSERT\(kind == .external ? " OR REPLACE" : "") INTO main.\(table)(rowid, title, body) VALUES (?, ?, ?)", values: values)
                .run(in: world)
        case .remove(let id):
            try SQLStep(sql: "DELETE FROM main.\(kind == .external ? "fdoc" : index) WHERE rowid = ?", values: [.integer(id)]).run(in: world)
        }
    }

    private func create(_ world: World, _ exists: Bool) throws {
        // After an index was created in a savepoint that was rolled back, SQLite fails at the next savepoint of the transaction.
        guard case .create(let porter) = call, !world.reference.isInTransaction else { return }
        if kind == .external {
            try SQLStep(sql: "CREATE TABLE IF NOT EXISTS main.fdoc(id INTEGER PRIMARY KEY, title TEXT, body TEXT)").run(in: world)
        }
        let content: FTS5Table.Content = switch kind {
        case .own: .own
        case .external: .external(table: "fdoc", rowID: "id")
        case .contentless: .contentless()
        }
        let found = try Outcome.of {
            try world.db.create(FTS5Table(index, columns: ["title", "body"], content: content, tokenizer: porter ? .porter(.unicode61()) : .unicode61()))
            return .done
        }
        try world.expect(exists ? .error : .done, found)
        guard !exists else { return }
        // The reference gets the same objects, with the text that the package has written.
        for row in try Contents.rows(world.db, "SELECT name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid") {
            guard case .text(let name) = row[0], case .text(let sql) = row[1], name.hasPrefix(index) else { continue }
            if try world.reference.must("SELECT 1 FROM main.sqlite_schema WHERE name = ?", [.text(name)]).isEmpty {
                _ = try world.reference.must(sql)
            }
        }
        if kind == .external { _ = try world.reference.must("INSERT INTO main.\(index)(\(index)) VALUES ('rebuild')") }
    }

    private func perform(_ db: Connection) throws -> Outcome {
        let index = try db.fullText(index)
        switch call {
        case .create, .write, .remove, .typed: break
        case .drop: try index.drop()
        case .rebuild: try index.rebuild()
        case .optimize: try index.optimize()
        case .check: return try index.passesIntegrityCheck() ? .done : .text("not intact")
        case .search(let words, let limit):
            var search = FullTextSearch(words.query, limit: limit ?? .max)
            search.order = .rowID
            let found = try index.search(search)
            return .text("\(found.hits.map(\.rowID)) of \(found.total)")
        }
        return .done
    }

    /// True if the rows that the index was made of are where it looks for them, and its triggers keep it up to date.
    private func hasContent(_ reference: Reference) throws -> Bool {
        guard kind == .external else { return true }
        if reference.run("SELECT rowid, title, body FROM main.fdoc LIMIT 0").isError { return false }
        return try !reference.must(
            "SELECT 1 FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = 'fdoc' AND name LIKE 'f_external%'").isEmpty
    }

    private func found(_ reference: Reference, _ words: Words, _ limit: Int?) throws -> Outcome {
        let all = try ids(reference, words).sorted()
        return .text("\(limit.map { Array(all.prefix($0)) } ?? all) of \(all.count)")
    }

    private func ids(_ reference: Reference, _ words: Words) throws -> Set<Int64> {
        func number(_ row: [SQLValue]) -> Int64? { if case .integer(let id) = row[0] { id } else { nil } }
        if kind == .contentless {
            // The text of a contentless index is nowhere else: the reference's own index answers.
            return Set(try reference.must("SELECT rowid FROM main.\(index) WHERE \(index) MATCH ?", [.text(words.expression)]).compactMap(number))
        }
        let rows = try reference.must("SELECT rowid, title, body FROM main.\(kind == .external ? "fdoc" : index)")
        return Set(rows.filter { row in
            words.matches(row.dropFirst().map { if case .text(let text) = $0 { text.split(separator: " ").map { $0.lowercased() } } else { [] } })
        }.compactMap(number))
    }

    var description: String { "\(kind): \(call)" }
}

extension Sketch {
    mutating func searchStep() -> (any Step)? {
        let kind = dice.pick(SearchStep.Kind.allCases)
        if count("search \(kind)") == 1 { return SearchStep(kind: kind, call: .create(porter: false)) }
        let call: SearchStep.Call
        switch dice.below(16) {
        case 0: call = .create(porter: false)
        case 1: call = .drop
        case 2: call = .rebuild
        case 3: call = .optimize
        case 4: call = .check
        case 5, 6, 7, 8: call = .search(dice.words(2), limit: dice.pick([nil, nil, 1]))
        case 9: call = .remove(Int64(dice.below(4)))
        case 10: call = .typed(dice.pick(SearchStep.words))
        default: call = .write(Int64(dice.below(4)), dice.sentence(), dice.sentence())
        }
        return SearchStep(kind: kind, call: call)
    }
}
