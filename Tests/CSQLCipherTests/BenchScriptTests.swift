import Foundation
import TestSupport
import Testing

/// `scripts/bench` says what it measures before it builds anything.
@Suite struct BenchScriptTests {
    private func run(_ arguments: String...) throws -> String {
        let outcome = try Command.run(Repository.file("scripts/bench").path, arguments)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output
    }

    @Test func swiftBenchListsEachWorkload() throws {
        let source = try String(contentsOf: Repository.file("Tests/Benchmarks/Sources/BenchOurs/BenchOurs.swift"), encoding: .utf8)
        let names = source.matches(of: #/\n +\("([a-z0-9-]+)", /#).map { String($0.1) }
        let explained = try run("swift", "--list").split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
        #expect(names.count > 25 && Set(names) == Set(explained.map { String($0[0]) }))
        #expect(explained.allSatisfy { $0.count == 2 })
        #expect(try run("swift", "--help").contains("open a database through its key slots"))
    }

    @Test func diskBenchListsEachWorkload() throws {
        for layer in ["BenchOurs", "BenchGRDB"] {
            let source = try String(contentsOf: Repository.file("Tests/Benchmarks/Sources/\(layer)/Disk.swift"), encoding: .utf8)
            let names = source.matches(of: #/\n +\("(disk-[a-z-]+)", /#).map { String($0.1) }
            let listed = try run("disk", "--list").split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
            #expect(names.count == 6 && names == listed.map { String($0[0]) } && listed.allSatisfy { $0.count == 2 })
        }
        #expect(try run("disk", "--help").contains("each on the disk"))
    }

    /// The output of `disk --article` takes the place of its paragraph and its table, and of nothing else, as often as it is run.
    @Test func diskBenchReplacesOnlyItsTable() throws {
        let program = """
            import sys
            sys.path.insert(0, "scripts/lib")
            import bench_disk
            times = {work: {name: [1] for name in bench_disk.VARIANTS} for work in bench_disk.WORKLOADS}
            text = bench_disk.article(bench_disk.ARTICLE.read_text(), bench_disk.table(times, 10), "the first machine", 0.5)
            new = bench_disk.article(text, bench_disk.table(times, 1), "a machine", 0.5)
            again = bench_disk.article(new, bench_disk.table(times, 20), "another machine", 0.5)
            kept = text.split("\\n\\n")
            changed = [i for i, (a, b) in enumerate(zip(kept, new.split("\\n\\n"), strict=True)) if a != b]
            print("(Resources/on-a-disk.svg)" in text, len(changed), changed[1] - changed[0], "200,000 |" in new, "10,000 |" in again, "a machine" in again)
            """
        let arguments = ["-c", "cd \"$0\" && exec python3 -B -c \"$1\"", Repository.file("").path, program]
        let outcome = try Command.run("bash", arguments)
        #expect(outcome.output == "True 2 1 True True False\n", "\(outcome)")
    }

    /// The output of `changes --article` takes the place of its table and the sentence after it, and of nothing else.
    @Test func changesBenchReplacesOnlyItsTable() throws {
        let program = """
            import sys
            sys.path.insert(0, "scripts/lib")
            import bench_changes as bench
            def text(old, factor):
                figures = {f"{kind} {step}": [factor, 1] for kind in bench.KINDS for step in bench.STEPS} | {"disk commit": [1, 1]}
                return bench.article(old, bench.table(figures))
            page = bench.ARTICLE.read_text()
            new = text(page, 2.5)
            kept = page.split("\\n\\n")
            changed = [i for i, (a, b) in enumerate(zip(kept, new.split("\\n\\n"), strict=True)) if a != b]
            print(len(changed), changed[1] - changed[0], "| 2.5 ×" in new, "| 12 ×" in text(new, 12), "2.5 ×" in text(new, 12))
            """
        let arguments = ["-c", "cd \"$0\" && exec python3 -B -c \"$1\"", Repository.file("").path, program]
        let outcome = try Command.run("bash", arguments)
        #expect(outcome.output == "2 1 True True False\n", "\(outcome)")
        let help = try run("changes", "--help")
        let source = try String(contentsOf: Repository.file("Tests/Benchmarks/Sources/BenchChanges/BenchChanges.swift"), encoding: .utf8)
        let names = source.matches(of: #/\n +\("([a-z-]+)", \{/#).map { String($0.1) }
        #expect(names.count == 6 && names.allSatisfy { help.contains("  \($0) ") })
    }

    @Test func engineBenchExplainsEachWorkload() throws {
        let help = try run("engine", "--help")
        let source = try String(contentsOf: Repository.file("scripts/lib/bench_engine.py"), encoding: .utf8)
        let table = try #require(source.components(separatedBy: "WORKLOADS = {").last?.components(separatedBy: "\n}").first)
        let rows = table.matches(of: #/"([a-z0-9-]+)": "([^"]+)"/#)
        #expect(rows.count > 8 && rows.allSatisfy { help.contains($0.1) && help.contains($0.2) })
    }

    @Test func replicaBenchListsEachWorkload() throws {
        let source = try String(
            contentsOf: Repository.file("Tests/Benchmarks/Sources/BenchReplica/BenchReplica.swift"), encoding: .utf8)
        let names = source.matches(of: #/\("([a-z]+)", \{ try await \$0/#).map { String($0.1) }
        let listed = try run("replica", "--list")
        #expect(names.count == 6 && names.allSatisfy { listed.contains("  \($0) ") })
        #expect(try run("replica", "--help").contains(listed.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// The output of `--markdown` can be put into the article: it has the same tables with the same rows.
    @Test func replicaBenchWritesArticleTables() throws {
        let script = """
            import sys
            sys.path.insert(0, sys.argv[1])
            import bench_replica as bench
            print(bench.article({(store, name): [1.0] for store in ("none", "folder", "s3", "memory") for name in bench.FIGURES}))
            """
        let outcome = try Command.run("/usr/bin/env", ["python3", "-B", "-c", script, Repository.file("scripts/lib").path])
        let page = try String(
            contentsOf: Repository.file("Sources/SQLCipherKitReplication/Documentation.docc/ReplicationCosts.md"), encoding: .utf8)
        func rows(_ text: String) -> Set<String> {
            Set(text.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
                let cells = line.split(separator: "|").prefix(line.contains(#/[0-9]/#) ? 1 : 9).joined(separator: "|")
                return cells.replacing(#/[0-9.,]*[0-9]/#, with: "0")
            })
        }
        let written = rows(outcome.output)
        #expect(outcome.status == 0 && written.count == 20, "\(outcome.errors)")
        #expect(written.subtracting(rows(page)).sorted() == [])
    }

    @Test func searchBenchListsWorkloadsClassesAndVariants() throws {
        let source = try String(contentsOf: Repository.file("scripts/lib/bench_search.py"), encoding: .utf8)
        let listed = try run("search", "--list")
        for table in ["VARIANTS", "WORKLOADS"] {
            let text = try #require(source.components(separatedBy: "\n\(table) = {").last?.components(separatedBy: "\n}").first)
            let names = text.matches(of: #/\n    "([a-z0-9-]+)":/#).map(\.1)
            #expect(names.count > 4 && names.allSatisfy { listed.contains("  \($0) ") })
        }
        #expect(listed.contains("  typo ") && listed.contains("parts of texts in Hindi"))
        #expect(try run("search", "--help").contains(listed.trimmingCharacters(in: .whitespacesAndNewlines)))
    }
}
