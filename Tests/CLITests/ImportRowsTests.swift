import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// CSV and JSON lines.
@Suite struct ImportRowsTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
    }

    private func file(_ name: String, _ text: String) throws -> String {
        let path = folder.path(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func load(_ arguments: String...) throws -> Command.Outcome {
        try Tool.run(["import", database] + arguments + Tool.key)
    }

    private func rows(_ sql: String) throws -> [String] {
        let outcome = try Tool.run(["query", database, sql, "--format", "jsonl"] + Tool.key)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").map(String.init)
    }

    @Test func csvImportKeepsQuotedAndNumericFields() throws {
        let text = "\u{feff}name,age,zip,,note\r\n\"A, b\",12,007,x,\"\"\r\n\n C ,1.50,-0,,\n\"two\nlines, \"\"quoted\"\"\",-3,1e5,é,12345678901234567890"
        let outcome = try load(try file("my people.csv", text))
        outcome.expectSuccess()
        #expect(outcome.output.hasPrefix("imported 3 rows into my_people in "))
        #expect(try rows("SELECT * FROM my_people") == [
            // A column of numbers only if nothing is lost by it; blanks are part of a field.
            #"{"name":"A, b","age":12.0,"zip":"007","column4":"x","note":""}"#,
            #"{"name":" C ","age":1.5,"zip":"-0","column4":null,"note":null}"#,
            #"{"name":"two\nlines, \"quoted\"","age":-3.0,"zip":"1e5","column4":"é","note":"12345678901234567890"}"#,
        ])
    }

    @Test func csvOptionsSetDelimiterHeaderAndTable() throws {
        let path = try file("t.csv", "1;x\n2;\n")
        #expect(try load(path, "--delimiter", ";", "--no-header", "--keep-text", "--table", "t u").status == 0)
        #expect(try rows(#"SELECT typeof(column1) AS a, column2 AS b FROM "t u""#) == [#"{"a":"text","b":"x"}"#, #"{"a":"text","b":null}"#])
        #expect(try load(try file("t.tsv", "a\tb\n1\t2,3\n"), "--table", "v").status == 0)
        #expect(try rows("SELECT a, b FROM v") == [#"{"a":1,"b":"2,3"}"#])
        try load(path, "--delimiter", "::").expectFailure(64, "--delimiter")
        try load("-", "--as", "csv").expectFailure(64, "--table")
        let misspelt = try load(path, "--search", "nope", "--table", "w")
        #expect(misspelt.status == 64 && misspelt.errors.contains("--search"))
    }

    @Test(arguments: [
        ("a,b\n1,2\n3\n", "line 3", "1 field"), ("a,b\n1,\"2\n3\n", "line 2", "not closed"),
        ("a\n\"x\"y\n", "line 2", "closing quote"), ("a,A\n1,2\n", "line 1", "named A"), ("a,b\n\"1\n2\",x\n5\n", "line 4", "1 field"),
    ])
    func csvErrorNamesFileAndLine(text: String, line: String, reason: String) throws {
        try load(try file("t.csv", text)).expectFailure(1, "t.csv", line, reason)
        // The database was made for nothing, and is gone.
        #expect(try folder.names() == ["t.csv"])
    }

    @Test func jsonLinesImportKeepsTypes() throws {
        let text = """
            {"name":"one","tags":["a","b"],"big":123456789012345678901234567890}

            {"name":null,"meta":{"x":1},"ok":true,"real":2.5}
            {}
            """
        #expect(try load(try file("docs.jsonl", text)).status == 0)
        #expect(try rows("SELECT * FROM docs") == [
            #"{"name":"one","tags":"[\"a\",\"b\"]","big":"123456789012345678901234567890","meta":null,"ok":null,"real":null}"#,
            #"{"name":null,"tags":null,"big":null,"meta":"{\"x\":1}","ok":1,"real":2.5}"#,
            #"{"name":null,"tags":null,"big":null,"meta":null,"ok":null,"real":null}"#,
        ])
        try load(try file("bad.jsonl", "{\"a\":1}\n[1]\n")).expectFailure(1, "bad.jsonl, line 2", "not a JSON object")
        try load(try file("worse.jsonl", "{\"a\":1}\n{\"a\":\n")).expectFailure(1, "worse.jsonl, line 2", "not JSON")
    }

    @Test func importIntoExistingTableKeepsItsColumns() throws {
        let script = try file("s.sql", "CREATE TABLE t(a TEXT NOT NULL, b DEFAULT 'none');")
        try Tool.run(["create", database, "--script", script] + Tool.key).expectSuccess()
        #expect(try load(try file("t.jsonl", "{\"a\":1}\n{\"b\":2,\"a\":\"x\"}\n{\"a\":2,\"b\":null}\n")).status == 0)
        // A member that is missing is the default, null is NULL.
        #expect(try rows("SELECT * FROM t") == [#"{"a":"1","b":"none"}"#, #"{"a":"x","b":2}"#, #"{"a":"2","b":null}"#])
        try load(try file("u.jsonl", "{\"a\":1,\"c\":1}\n"), "--table", "t").expectFailure(1, "line 1", "no column c")
        try load(try file("v.jsonl", "{\"b\":1}\n"), "--table", "t").expectFailure(1, "line 1", "NOT NULL")
        #expect(try rows("SELECT count(*) AS n FROM t") == [#"{"n":3}"#])
    }

    /// Names that are equal to Swift, but not to JSON and SQL.
    @Test func jsonMemberNamesAreComparedByBytes() throws {
        let text = "{\"caf\u{e9}\":1}\n{\"cafe\u{301}\":2}\n{\"cafe\u{301}\":4,\"caf\u{e9}\":3}\n"
        try load(try file("t.jsonl", text)).expectSuccess()
        #expect(try rows("SELECT sum(\"caf\u{e9}\") AS a, sum(\"cafe\u{301}\") AS b FROM t") == [#"{"a":4,"b":6}"#])
    }

    @Test func importReadsStandardInput() throws {
        let arguments = ["import", database, "-", "--as", "jsonl", "--table", "t"] + Tool.key
        try Tool.run(arguments, input: "{\"a\":1}\n{\"a\":2}\n").expectSuccess()
        #expect(try rows("SELECT sum(a) AS s FROM t") == [#"{"s":3}"#])
    }

    @Test func secondRowImportSkipsImportedRows() throws {
        let path = try file("t.csv", "a\n1\n2\n")
        #expect(try load(path).status == 0)
        #expect(try load(path).output.hasPrefix("\(path) was imported before, 2 rows"))
        #expect(try rows("SELECT count(*) AS n FROM t") == [#"{"n":2}"#])
        #expect(try load(path, "--again").status == 0)
        #expect(try rows("SELECT count(*) AS n FROM t") == [#"{"n":4}"#])
        _ = try file("t.csv", "a\n1\n2\n3\n")
        try load(path).expectFailure(1, "has changed", "--again")
    }

    @Test func failedRowImportResumesAfterImportedRows() throws {
        let path = folder.path("t.csv")
        let good = "a,b\n1,x\n2,\"two\nlines\"\n3,y\n4,z\n"
        try Data((good + "oops\n").utf8).write(to: URL(fileURLWithPath: path))
        let before = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        try load(path, "--batch", "2").expectFailure(1, "line 7", "4 rows already imported")
        #expect(try rows("SELECT count(*) AS n FROM t") == [#"{"n":4}"#])
        // The same file, mended without changing its size or time.
        try Data((good + "55,vv").utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.modificationDate: try #require(before)], ofItemAtPath: path)
        let outcome = try load(path, "--batch", "2")
        #expect(outcome.output.hasPrefix("imported 1 row into t in ") && outcome.output.contains(", after 4 of an earlier run"), "\(outcome.errors)")
        #expect(try rows("SELECT group_concat(a) AS a FROM t") == [#"{"a":"1,2,3,4,55"}"#])
    }

    @Test func interruptedRowImportResumes() throws {
        let path = folder.path("big.jsonl")
        let padding = String(repeating: "padding ", count: 40)
        var text = ""
        for number in 0..<25_000 { text += "{\"n\":\(number),\"text\":\"\(padding)\"}\n" }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let command = try Tool.start(["import", database, path, "--batch", "500"] + Tool.key)
        func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: database)[.size] as? Int) ?? 0 }
        try waitUntil("a part is imported") { size() >= 1 << 20 }
        command.process.interrupt()
        try command.end().expectFailure(130, "interrupted", "the same command continues")
        #expect(try folder.names() == ["a.db", "big.jsonl"])
        let row = try rows("SELECT count(*) AS n, max(n) + 1 AS next FROM big")
        let count = try #require((500...24_500).first { row == [#"{"n":\#($0),"next":\#($0)}"#] })
        #expect(count % 500 == 0)
        #expect(try rows("PRAGMA integrity_check") == [#"{"integrity_check":"ok"}"#])
        let outcome = try load(path)
        #expect(outcome.output.hasPrefix("imported \((25_000 - count).formatted(.number.locale(Locale(identifier: "en_US")))) rows into big"))
        #expect(try rows("SELECT count(*) AS n, count(DISTINCT n) AS d, min(n) AS a, max(n) AS b FROM big") == [
            #"{"n":25000,"d":25000,"a":0,"b":24999}"#,
        ])
    }

    /// An import that fails removes the database that it has created, but not one that another process has made while this one
    /// waited for its key.
    @Test func failedImportKeepsDatabaseOfAnotherProcess() throws {
        let (rows, broken) = (try file("t.csv", "a\n1\n"), try file("u.csv", "a,b\n1\n"))
        let script = """
            "$0" import "$1" "$3" --raw-key --key-fd 7 7< <(
                sleep 0.5
                "$0" import "$1" "$2" --raw-key --key-env KEY > /dev/null
                printf '%s' "$KEY")
            """
        let outcome = try Command.run("bash", ["-c", script, Tool.path, database, rows, broken], environment: ["KEY": Tool.rawKey])
        outcome.expectFailure(1, "u.csv, line 2")
        #expect(try self.rows("SELECT a FROM t") == [#"{"a":1}"#])
        // Nothing is left of one that fails alone.
        unlink(database)
        try load(broken).expectFailure(1, "u.csv, line 2")
        #expect(try folder.names() == ["t.csv", "u.csv"])
    }

    @Test func importUpsertsByKey() throws {
        let path = try file("t.csv", "k,v\n1,a\n2,b\n")
        try load(path, "--pk", "k").expectSuccess()
        _ = try file("t.csv", "k,v\n2,B\n3,c\n")
        try load(path).expectFailure(1, "has changed", "--upsert")
        try load(path, "--upsert").expectSuccess()
        #expect(try rows("SELECT * FROM t") == [#"{"k":1,"v":"a"}"#, #"{"k":2,"v":"B"}"#, #"{"k":3,"v":"c"}"#])
        let other = try file("u.jsonl", "{\"k\":3,\"w\":5}\n")
        try load(other, "--table", "t", "--upsert").expectSuccess()
        #expect(try rows("SELECT * FROM t WHERE k = 3") == [#"{"k":3,"v":"c","w":5}"#])
        // Both files together are the table again.
        _ = try file("t.csv", "k,v\n2,B\n4,d\n")
        try load(path, other, "--table", "t", "--fresh").expectSuccess()
        #expect(try rows("SELECT k FROM t") == [#"{"k":2}"#, #"{"k":4}"#, #"{"k":3}"#])
        try load(path, "--table", "t", "--mirror").expectFailure(64, "--fresh")
        _ = try file("t.csv", "k\n2\n5\n")
        try load(path, "--table", "keys", "--pk", "k", "--upsert").expectSuccess()
        try load(path, "--table", "keys", "--upsert", "--again").expectSuccess()
        #expect(try rows("SELECT k FROM keys") == [#"{"k":2}"#, #"{"k":5}"#])
        _ = try file("t.csv", "k,v\n002,x\n")
        try load(path, "--table", "w", "--upsert").expectFailure(64, "--pk")
        try load(path, "--table", "w", "--pk", "nope").expectFailure(64, "nope")
        try load(try file("e.csv", "k,v\n,x\n"), "--table", "keys", "--upsert").expectFailure(1, "line 2", "k is empty")
    }

    @Test func importReadsJSONArraysAndGzip() throws {
        let array = try file("docs.json", " [ {\"a\": 1, \"b\": \"x,]}\\\"\"},\n {\"a\": \"two\",\n\"c\": 2.5}\n]\n")
        try load(array).expectSuccess()
        #expect(try rows("SELECT a, b, c FROM docs") == [#"{"a":1,"b":"x,]}\"","c":null}"#, #"{"a":"two","b":null,"c":2.5}"#])
        try load(try file("bad.json", "[{\"a\": 1},\n[2]]\n")).expectFailure(1, "bad.json, line 2", "not a JSON object")
        try load(try file("open.json", "[{\"a\": 1},\n{\"a\": 2")).expectFailure(1, "open.json, line 2", "not closed")
        try Command.run("gzip", [try file("z.csv", "a,b\n1,2\n3,4\n"), array]).expectSuccess()
        try load(array + ".gz", folder.path("z.csv.gz"), "--table", "z").expectSuccess()
        #expect(try rows("SELECT a, b FROM z") .contains(#"{"a":3,"b":"4"}"#))
        let damaged = folder.path("d.csv.gz")
        try Data(contentsOf: URL(fileURLWithPath: folder.path("z.csv.gz"))).dropLast(9).write(to: URL(fileURLWithPath: damaged))
        try load(damaged).expectFailure(1, "d.csv.gz", "damaged")
    }

    @Test func misspelledColumnInTypesIsRefused() throws {
        let path = try file("t.csv", "zip,name\n01067,x\n")
        try load(path, "--types", "zipp=text").expectFailure(64, "--types names zipp", "t gets no such column")
        #expect(!FileManager.default.fileExists(atPath: database))
        try load(path, "--types", "ZIP=integer,name=any").expectSuccess()
    }

    @Test func importUsesChosenTokenizer() throws {
        let path = try file("t.csv", "name\nbaking bread\n")
        for (tokenizer, finds) in [("multilingual", "bread"), ("porter", "bakes"), ("unicode61", "bread"), ("trigram", "akin")] {
            try load(path, "--table", tokenizer, "--search", "name", "--tokenizer", tokenizer).expectSuccess()
            for (word, others) in [("bakes", "porter"), ("akin", "trigram")] {
                let count = try rows("SELECT count(*) AS n FROM \(tokenizer)_search WHERE \(tokenizer)_search MATCH '\(word)'")
                #expect(count == ["{\"n\":\(tokenizer == others ? 1 : 0)}"], "\(tokenizer) \(word)")
            }
            #expect(try rows("SELECT count(*) AS n FROM \(tokenizer)_search WHERE \(tokenizer)_search MATCH '\(finds)'") == [#"{"n":1}"#])
        }
    }

    @Test func importedTextIsFoundInEveryScript() throws {
        let path = try file("t.csv", "name\nお寺の近くに住んでいます\n我们昨天在大学图书馆学习\nฉันอ่านหนังสือที่ห้องสมุด\n데이터베이스를 만들었다\n")
        try load(path, "--search", "name").expectSuccess()
        for (word, row) in [("寺", 1), ("图书馆", 2), ("หนังสือ", 3), ("데이터베이스", 4)] {
            let outcome = try Tool.run(["search", database, word, "--format", "jsonl"] + Tool.key)
            #expect(outcome.output.contains("\"row\":\(row),") && outcome.output.split(separator: "\n").count == 1, "\(word)")
        }
    }

    @Test func importFromPipeRequiresFormat() throws {
        let pipe = folder.path("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        try load(pipe).expectFailure(1, "pipe", "--as")
        // The writer waits already when the tool comes, which must open the pipe once.
        let script = """
            printf 'a\\n1\\n' > "$2" & sleep 0.2
            "$0" import "$1" "$2" --as csv --raw-key --key-env TEST_KEY
            status=$?; kill $! 2>/dev/null; exit $status
            """
        try Command.run("bash", ["-c", script, try Tool.path, database, pipe], environment: ["TEST_KEY": Tool.rawKey]).expectSuccess()
        #expect(try rows("SELECT a FROM pipe") == [#"{"a":1}"#])
    }

    /// A faulty element is reported wherever it is.
    @Test(arguments: [
        "{\"a\": NaN}", "{\"a\": 1, \"a\": 2}", "[1, 2]", "{\"a\": 1e999}", "5", "\"text\"", "{\"a\"}", "{\"a\": {\"b\": 1, \"b\": 2}}",
    ])
    func jsonErrorIsTheSameInFirstAndLastElement(element: String) throws {
        for (name, start, between, end) in [("t.json", "[", ",\n", "]"), ("t.jsonl", "", "\n", "\n")] {
            func reason(_ elements: [String]) throws -> String {
                let outcome = try load(try file(name, start + elements.joined(separator: between) + end), "--again")
                #expect(outcome.status == 1 && !outcome.errors.contains("is empty"), "\(outcome)")
                #expect(outcome.errors.contains("line \(elements.count)"), "\(outcome)")
                return outcome.errorLines[0].components(separatedBy: ": ").dropFirst(2).joined(separator: ": ")
            }
            #expect(try reason([element]) == reason(["{\"a\": 1}", element]))
        }
    }

    /// A file without names fills the columns of a table that exists in their order.
    @Test func fileWithoutNamesFillsColumnsByPosition() throws {
        try load(try file("t.csv", "a,b\n1,x\n")).expectSuccess()
        try load(try file("u.csv", "2,y\n3,z\n"), "--table", "t", "--no-header").expectSuccess()
        #expect(try rows("SELECT * FROM t") == [#"{"a":1,"b":"x"}"#, #"{"a":2,"b":"y"}"#, #"{"a":3,"b":"z"}"#])
        try load(try file("v.csv", "4,w,5\n"), "--table", "t", "--no-header").expectFailure(1, "3 fields", "2 columns", "--ragged pad")
        try load(try file("w.csv", "4\n"), "--table", "t", "--no-header", "--ragged", "pad").expectSuccess()
        #expect(try rows("SELECT * FROM t WHERE a = 4") == [#"{"a":4,"b":null}"#])
    }

    /// A short compressed file can have any number of fields: they are counted before they are kept.
    @Test func importRefusesMoreFieldsThanATableHasColumns() throws {
        let many = String(repeating: "a,", count: 3_000_000) + "a\n"
        try Command.run("gzip", [try file("wide.csv", many)]).expectSuccess()
        try load(folder.path("wide.csv.gz")).expectFailure(1, "wide.csv.gz, line 1", "more than 2,000 fields")
        for mode in ["error", "pad", "skip"] {
            let late = try file("late.csv", "a,b\n1,2\n" + many)
            try load(late, "--ragged", mode).expectFailure(1, "late.csv, line 3", "more than 2,000 fields")
        }
        let widest = try file("widest.csv", (1...2000).map { "c\($0)" }.joined(separator: ",") + "\n" + (1...2000).map(String.init).joined(separator: ",") + "\n")
        try load(widest).expectSuccess()
    }

    /// The progress of an import is stored in the database, where it may be any numbers.
    @Test func importRefusesImpossibleNumbersOfAnEarlierImport() throws {
        let path = try file("t.csv", "a,b\n1,2\n3,4\n")
        try load(path).expectSuccess()
        for column in ["position", "line", "rows"] {
            for number in [Int64.min, -1, .max] {
                let sql = "UPDATE sqlcipherkit_import SET is_finished = 0, position = 4, line = 2, rows = 0; "
                    + "UPDATE sqlcipherkit_import SET \(column) = \(number)"
                try Tool.run(["query", database, sql, "--write"] + Tool.key).expectSuccess()
                try load(path).expectFailure(1, "impossible numbers", "--again")
            }
        }
        try load(path, "--again").expectSuccess()
        #expect(try rows("SELECT count(*) AS n FROM t") == [#"{"n":4}"#])
    }

    /// A short compressed file that unpacks to much: the most memory that the tool takes, beside the memory for one row.
    @Test func importOfHostileFileTakesBoundedMemory() throws {
        let program = """
            import gzip, os, resource, subprocess, sys
            tool, folder = sys.argv[1:]
            def peak(name, *pieces):
                with gzip.open(folder + "/" + name + ".gz", "wb", 1) as file:
                    for piece, count in pieces:
                        for _ in range(count): file.write(piece)
                # Each in a process of its own, as the most of all children is what the system tells.
                if (child := os.fork()) == 0:
                    subprocess.run([tool, "import", folder + "/" + name + ".db", folder + "/" + name + ".gz", "--no-key"],
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    with open(folder + "/peak", "w") as file:
                        file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
                    os._exit(0)
                os.waitpid(child, 0)
                return int(open(folder + "/peak").read())
            usual = peak("a.csv", (b"a,b\\n1,2\\n", 1))
            wide = (b"1," * 100_000, 100)
            print(usual, peak("fields.csv", wide) - usual, peak("late.csv", (b"a,b\\n", 1), wide) - usual)
            print(peak("nested.json", (b'{"a":[', 1), (b"[]," * 1000, 700), (b"0]}", 1)) - usual)
            """
        let numbers = try Python.run(program, Tool.path, folder.url.path).split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(numbers.count == 4)
        // A sample of the file, and a piece of it at a time; or up to thirty times the bytes of the element.
        #expect(numbers[1] < 32_000_000 && numbers[2] < 32_000_000, "\(numbers)")
        #expect(numbers[3] < 30 * 2_100_000, "\(numbers)")
    }
}
