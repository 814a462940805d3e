import TestSupport

/// Makes statements of all forms over the tables of `HiddenDatabase`: most compile, and most try to get at something hidden.
package struct QueryForms {
    private var random: SeededGenerator
    /// The names and columns that can be referred to, innermost query last.
    private var scopes: [[Source]] = []
    private var depth = 0
    private var names = 0

    private struct Source {
        let name: String
        let columns: [String]
    }

    package init(seed: UInt64) { random = SeededGenerator(state: seed) }

    private static let tables: [(String, [String])] = [
        ("note", ["id", "title", "secret", "n", "hidden_n", "doubled", "leaked", "rowid"]), ("tag", ["id", "note", "name", "oid"]), ("pair", ["a", "b", "secret", "c"]),
        ("person", ["id", "name", "age", "secret", "rowid"]), ("titles", ["id", "title"]), ("open_fts", ["title", "body", "rank", "open_fts", "rowid"]),
        ("note_fts", ["title", "rank", "note_fts", "rowid"]),
    ]
    private static let hidden: [(String, [String])] = [
        ("hidden", ["id", "secret", "title", "n", "name"]), ("sealed", ["secret", "x"]), ("counted", ["id", "secret"]), ("vault.safe", ["id", "secret", "title"]),
        ("temp.scratch", ["id", "secret", "title"]), ("scratch", ["id", "secret", "title"]), ("leak", ["id", "secret", "title"]),
        ("hidden_view", ["id", "secret", "title"]), ("coalesced", ["secret"]), ("secret_fts", ["title", "secret", "rank", "secret_fts", "rowid"]),
        ("secret_words", ["term", "doc", "cnt"]), ("old_fts", ["title", "secret", "docid"]), ("box", ["id", "x0", "x1", "secret"]),
        ("sqlite_schema", ["type", "name", "sql", "rootpage"]), ("sqlite_master", ["name", "sql"]), ("sqlite_temp_schema", ["name", "sql"]),
        ("vault.sqlite_schema", ["name", "sql"]), ("sqlite_sequence", ["name", "seq"]), ("sqlite_stmt", ["sql", "run"]), ("dbstat", ["name", "ncell", "payload"]),
        ("secret_fts_data", ["id", "block"]), ("secret_fts_content", ["id", "c0", "c1"]), ("secret_fts_idx", ["segid", "term"]), ("secret_fts_docsize", ["id", "sz"]),
        ("open_fts_content", ["id", "c0", "c1"]), ("open_fts_data", ["id", "block"]), ("note_fts_data", ["id", "block"]), ("note_fts_config", ["k", "v"]),
        ("old_fts_content", ["docid", "c0title", "c1secret"]), ("old_fts_segments", ["blockid", "block"]), ("box_node", ["nodeno", "data"]),
        ("box_rowid", ["rowid", "nodeno", "a0"]), ("pragma_table_info('hidden')", ["name", "type"]), ("pragma_table_list", ["name", "ncol"]),
        ("pragma_index_list('note')", ["name"]), ("pragma_database_list", ["name", "file"]), ("pragma_function_list", ["name"]),
        ("bytecode('SELECT secret FROM hidden')", ["opcode", "p4"]), ("tables_used('SELECT secret FROM hidden')", ["name"]),
        ("json_each('[1,\"a\"]')", ["key", "value"]), ("json_tree('{\"a\":[1]}')", ["key", "value", "path"]), ("fts3tokenize('simple', 'a b')", ["token"]),
    ]

    // MARK: Statements

    package mutating func next() -> String {
        depth = 0
        scopes = []
        let query = select(limit: true)
        switch Int.random(in: 0..<40, using: &random) {
        case 0: return "EXPLAIN \(query)"
        case 1: return "EXPLAIN QUERY PLAN \(query)"
        case 2: return "INSERT INTO tag(name) SELECT secret FROM hidden WHERE 1 ON CONFLICT DO UPDATE SET name = excluded.name RETURNING name"
        case 3: return "UPDATE tag SET name = (\(query)) RETURNING *, (SELECT secret FROM hidden)"
        case 4: return "DELETE FROM \(any(["tag", "hidden", "note"])) WHERE id IN (\(query)) RETURNING *"
        case 5: return "CREATE TEMP \(any(["VIEW", "TABLE"])) stolen AS \(query)"
        case 6: return "CREATE TEMP TRIGGER stolen AFTER INSERT ON tag BEGIN \(query); END"
        case 7: return "PRAGMA \(any(["table_info(hidden)", "integrity_check", "user_version", "data_version", "schema_version", "index_info(note_secret)", "foreign_key_check"]))"
        case 8: return "UPDATE tag SET name = secret FROM note FULL JOIN hidden USING (secret) WHERE tag.id = note.id RETURNING name"
        case 9: return any(["SELECT sqlcipher_export('vault')", "VACUUM INTO '/dev/null'", "ATTACH ':memory:' AS m", "ANALYZE hidden", "REINDEX note_secret", "SAVEPOINT s"])
        default: return query
        }
    }

    private mutating func any<T>(_ list: [T]) -> T { list[Int.random(in: 0..<list.count, using: &random)] }
    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    // MARK: Queries

    private mutating func select(columns wanted: Int? = nil, limit: Bool = false) -> String {
        depth += 1
        defer { depth -= 1 }
        var text = ""
        var common: [Source] = []
        if depth == 1, chance(20) {
            names += 1
            let name = any(["c\(names)", "titles", "hidden"])
            if chance(40) {
                text = "WITH RECURSIVE \(name)(id, secret) AS (SELECT 1, \(any(["'x'", "NULL", "(SELECT secret FROM hidden)"])) UNION \(any(["", "ALL"])) SELECT id + 1, \(any(["secret", "\(name).secret"])) FROM \(name) \(any(["", "NATURAL JOIN note", "NATURAL LEFT JOIN hidden", "FULL JOIN note USING (id)", "LEFT JOIN person USING (id)"])) WHERE \(name).id < 4 LIMIT 9) "
            } else {
                text = "WITH \(name)(id, secret) AS \(any(["", "MATERIALIZED", "NOT MATERIALIZED"])) (\(select(columns: 2))) "
            }
            common = [Source(name: name, columns: ["id", "secret"])]
        }
        scopes.append([])
        let from = chance(96) ? " FROM " + sources(common) : ""
        let sources = scopes[scopes.count - 1]
        let count = wanted ?? Int.random(in: 1...3, using: &random)
        var list = (0..<count).map { _ in expression() }
        if wanted == nil, chance(10) { list = [chance(50) ? "*" : "\(sources.first?.name ?? "note").*"] }
        text += "SELECT \(chance(8) ? "DISTINCT " : "")\(list.joined(separator: ", "))\(from)"
        if chance(35) { text += " WHERE \(condition())" }
        if chance(14) {
            text += " GROUP BY \(expression())"
            if chance(30) { text += " HAVING \(any(["count(*) > 0", "max(\(column())) > 'S'", condition()]))" }
        }
        if chance(8) { text += " WINDOW w AS (PARTITION BY \(column()) ORDER BY \(column()))" }
        scopes.removeLast()
        if chance(8), depth < 3 { text += " \(any(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])) \(select(columns: list[0].hasSuffix("*") ? 1 : count))" }
        else if chance(20), from != "" {
            scopes.append(sources)
            text += " ORDER BY \(any([column(), expression(), "1"])) \(any(["", "DESC", "NULLS LAST"]))"
            scopes.removeLast()
        }
        return limit ? text + " LIMIT 60" : text
    }

    /// The FROM clause; its tables go into the innermost scope.
    private mutating func sources(_ common: [Source]) -> String {
        var text = source(common)
        for _ in 0..<any([0, 0, 1, 1, 1, 2, 3]) {
            let kind = any(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN", "CROSS JOIN", ","])
            let isNatural = kind != "," && kind != "CROSS JOIN" && chance(35)
            let before = Set(scopes[scopes.count - 1].flatMap(\.columns))
            text += " \(isNatural ? "NATURAL " : "")\(kind) \(source(common))"
            if isNatural || kind == "," { continue }
            let shared = (scopes[scopes.count - 1].last?.columns ?? []).filter { before.contains($0) && $0 != "rowid" && $0 != "rank" }
            if !shared.isEmpty, chance(75) {
                let some = any(shared)
                let names = shared.contains("secret") && chance(60) ? ["secret"] : shared.filter { $0 == some || chance(15) }
                text += " USING (\(names.joined(separator: ", ")))"
            } else if chance(60) { text += " ON \(condition())" }
        }
        return text
    }

    private mutating func source(_ common: [Source]) -> String {
        names += 1
        let alias = "t\(names)"
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<10 where depth < 4:
            let query = select(columns: 2)
            scopes[scopes.count - 1].append(Source(name: alias, columns: ["x", "y"]))
            return "(SELECT * FROM (SELECT NULL AS x, NULL AS y WHERE 0 UNION ALL \(query))) AS \(alias)"
        case 10..<22:
            scopes[scopes.count - 1].append(Source(name: alias, columns: ["id", "secret", "title"]))
            return "(SELECT \(Int.random(in: 1...4, using: &random)) AS id, \(any(["'SECRE' || 'Ta1'", "NULL", "'x'"])) AS secret, 'title 1' AS title) AS \(alias)"
        case 22..<28 where depth < 4:
            // A parenthesis of joins is a subquery to SQLite.
            return "(\(source(common)) \(any(["JOIN", "FULL JOIN", "NATURAL JOIN", "NATURAL FULL JOIN", "LEFT JOIN"])) \(source(common)))"
        default:
            if let known = common.first, chance(40) {
                scopes[scopes.count - 1].append(known)
                return known.name
            }
            let (name, columns) = any(chance(65) ? Self.tables : Self.hidden)
            let usesAlias = chance(50) || name.contains("(") || name.contains(".")
            scopes[scopes.count - 1].append(Source(name: usesAlias ? alias : name, columns: columns))
            var text = (["note", "tag", "hidden"].contains(name) && chance(15) ? "main." : "") + name + (usesAlias ? " AS \(alias)" : "")
            if name == "note", chance(15) { text += any([" INDEXED BY note_title", " INDEXED BY note_secret", " NOT INDEXED", " INDEXED BY note_n"]) }
            return text
        }
    }

    // MARK: Expressions

    private mutating func column() -> String {
        let scope = chance(85) ? scopes.last ?? [] : scopes.randomElement(using: &random) ?? []
        guard let source = scope.randomElement(using: &random) else { return "secret" }
        let name = source.columns.contains("secret") && chance(35) ? "secret" : any(source.columns)
        return chance(55) ? name : "\(source.name).\(name)"
    }

    private mutating func expression() -> String {
        depth += 1
        defer { depth -= 1 }
        if depth > 4 { return column() }
        let table = scopes.last?.randomElement(using: &random)?.name ?? "note_fts"
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<52: return column()
        case 52..<64: return "\(any(["hex", "upper", "length", "quote", "typeof", "trim", "unicode", "json_quote", "json_array", "likely", "soundex"]))(\(expression()))"
        case 64..<72: return "\(any(["max", "min", "count", "group_concat", "sum", "json_group_array", "total"]))(\(chance(10) ? "DISTINCT " : "")\(expression()))"
        case 72..<76: return "coalesce(\(expression()), \(expression()))"
        case 76..<80: return "\(any(["snippet", "highlight"]))(\(table), \(Int.random(in: 0...1, using: &random)), '<', '>'\(chance(50) ? ", '…', 9" : ""))"
        case 80..<82: return any(["bm25(\(table))", "offsets(\(table))", "hex(matchinfo(\(table)))", "fts5_source_id()", "snippet(\(table))"])
        case 82..<88: return "(\(select(columns: 1)) LIMIT 1)"
        case 88..<92: return "\(any(["row_number()", "lag(\(column()))", "first_value(\(column()))", "max(\(column()))", "ntile(2)"])) OVER (\(chance(50) ? "PARTITION BY \(column()) " : "")ORDER BY \(column()))"
        case 92..<96: return "CASE WHEN \(condition()) THEN \(expression()) ELSE \(column()) END"
        default: return any(["1", "'S'", "NULL", "count(*)", "*"]) == "*" ? "count(*)" : "1 + \(column())"
        }
    }

    private mutating func condition() -> String {
        depth += 1
        defer { depth -= 1 }
        let table = scopes.last?.randomElement(using: &random)?.name ?? "note_fts"
        switch Int.random(in: 0..<14, using: &random) {
        case 0: return "\(column()) LIKE 'SECRET%'"
        case 1: return "\(column()) = \(column())"
        case 2: return "\(column()) > \(any(["'SECRETb'", "2", "'t'", "x'00'"]))"
        case 3: return "\(column()) IN (\(any(["1, 2", "'title 1'", "'SECRETa1', 'SECRETz1'"])))"
        case 4 where depth < 4: return "\(column()) IN (\(select(columns: 1)))"
        case 5 where depth < 4: return "\(any(["", "NOT "]))EXISTS (\(select()))"
        case 6: return "\(column()) IN \(any(["hidden", "tag", "sealed", "leak", "main.sealed", "coalesced"]))"
        case 7: return "\(table) MATCH \(any(["'title'", "'secret: S*'", "'body : text'", "'{title secret}: SECRETa1'"]))"
        case 8: return "(\(column()), \(column())) \(any(["=", "<", "IS NOT"])) (\(column()), 2)"
        case 9: return "\(column()) IS NOT NULL"
        case 10: return "\(column()) BETWEEN \(column()) AND 'T'"
        case 11: return "\(column()) GLOB 'SECRET*' OR \(column()) = 1"
        case 12: return "id = \(Int.random(in: 1...7, using: &random))"
        default: return "length(\(column())) > 3"
        }
    }
}
