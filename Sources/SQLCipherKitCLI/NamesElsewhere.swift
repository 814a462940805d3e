/// Words of other programs, with those of this one. The help of `shell` and the messages about unknown words
/// both read these tables.
enum NamesElsewhere {
    /// Dot commands of SQLite's shell, SQLCipher's, DuckDB's and litecli's that have another name here, or none.
    static let dotCommands: [(names: String, here: String)] = [
        ("archive session sha3sum intck", "none; sqlcipherkit diff compares"),
        ("cd prompt progress nonce binary", "none"),
        ("clone", ".save FILE"),
        ("columns rows maxrows maxwidth", ".mode FORMAT"),
        ("dbinfo dbtotxt stats", "sqlcipherkit info, sqlcipherkit space"),
        ("describe desc fullschema", ".schema, and sqlite_stat1"),
        ("crlf edit www", "none"),
        ("eqp explain", "EXPLAIN QUERY PLAN STATEMENT;"),
        ("excel", ".mode csv and .once FILE"),
        ("key rekey", "sqlcipherkit rekey"),
        ("pager nopager", ".once |less"),
        ("lint expert log trace load", "none: no program code is loaded"),
        ("recover", "sqlcipherkit recover"),
        ("show status", ".mode, which shows the format"),
        ("timeout", "PRAGMA busy_timeout = MS;"),
        ("version", "sqlcipherkit version"),
        ("width", "substr(column, 1, 20) in SQL"),
    ]

    /// Lines of the shells of PostgreSQL and MySQL, without arguments or with those of the dot command.
    static let commands: [(names: [String], here: String)] = [
        (["\\d", "\\dt", "\\dv", "\\dt+", "\\d+", "show tables"], "tables"),
        (["\\di", "show indexes", "show index"], "indexes"),
        (["\\l", "\\list", "\\conninfo", "show databases", "show schemas"], "databases"),
        (["describe", "desc", "\\d", "show create table"], "schema"),
        (["\\q", "\\exit", "bye"], "quit"),
        (["\\?", "\\h"], "help"),
        (["\\i", "\\.", "source"], "read"),
        (["\\o"], "output"),
        (["\\x"], "mode line"),
        (["\\timing"], "timer on"),
        (["\\echo"], "print"),
        (["\\c", "\\connect", "use"], "open"),
        (["\\copy"], "import"),
        (["\\!"], "shell"),
    ]

    /// The line that a line of another program's shell is here, if no SQL begins like it.
    static func dotLine(_ line: String) -> String? {
        var line = line[...]
        while line.last == ";" || line.last == " " { line.removeLast() }
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let first = words.first?.lowercased() else { return nil }
        let starts = commands.flatMap(\.names).map { $0.prefix { $0 != " " } }
        guard first.hasPrefix("\\") || starts.contains(where: { $0 == first }) else { return nil }
        for (names, here) in commands {
            for name in names {
                let count = name.split(separator: " ").count
                guard words.prefix(count).joined(separator: " ").lowercased() == name else { continue }
                let rest = words.dropFirst(count).joined(separator: " ")
                // Without a name it lists them, and with one it shows it.
                if here == "tables", name.hasPrefix("\\d"), !rest.isEmpty, name.count == 2 { continue }
                if here == "schema", rest.isEmpty { continue }
                return ".\(here)\(here.contains(" ") || rest.isEmpty ? "" : " \(rest)")"
            }
        }
        return first.hasPrefix("\\") ? String(line) : ".\(first)"
    }

    /// First words of a command line, and the advice about them.
    static let arguments: [(words: String, here: String)] = [
        ("open connect repl console cli edit connection use", "shell FILE"),
        ("sql select exec execute run pragma eval ask explain", "query FILE SQL"),
        ("insert update delete-from alter drop", "query FILE SQL --write"),
        ("tables columns describe desc ls list show inspect ddl indexes indices views", "schema FILE"),
        ("status stat fileinfo dbinfo properties settings cipher", "info FILE"),
        ("stats size usage analyzer sqlite3_analyzer du", "space FILE"),
        ("check integrity integrity_check test validate fsck checkdb intck", "verify FILE"),
        ("repair fix rescue salvage undelete recovery", "recover FILE NEW-FILE"),
        ("passwd password passphrase changekey change-key setkey reencrypt", "rekey FILE"),
        ("lockdown protect", "encrypt FILE"),
        ("unencrypt plaintext plain", "decrypt FILE"),
        ("convert upgrade cipher_migrate update-format", "migrate FILE for files of older versions, or encrypt or decrypt"),
        ("export csv tojson to-csv unload", "query FILE SQL --format csv, or dump FILE"),
        (".dump sqldump backup-sql", "dump FILE"),
        ("load ingest read add copy-from memory bulk insert-files", "import FILE SOURCE"),
        ("copy clone snapshot save", "backup FILE NEW-FILE"),
        ("rollback revert", "restore FILE BACKUP"),
        ("new init make createdb", "create FILE"),
        ("compact shrink compress vaccum", "vacuum FILE"),
        ("analyze optimise optimize", "query FILE ANALYZE --write"),
        ("compare sqldiff cmp", "diff FILE OTHER"),
        ("wipe purge shred scrub delete rm", "erase FILE"),
        ("find grep fts", "search FILE WORDS"),
        ("detect guess identify-file what", "identify FILE"),
        ("demo example", "tour"),
        ("man docs usage", "help COMMAND"),
    ]

    /// The advice in a table about a word.
    static func advice(about word: String, _ table: [(String, String)]) -> String? {
        table.first { $0.0.split(separator: " ").contains { $0 == word } }?.1
    }
}
