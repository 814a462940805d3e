import Foundation
import Testing
import TestSupport

/// Programs that handle errors in ordinary ways, drawn by seed: the compiler must accept each, in debug and in release, without a
/// crash, a warning or a hang. Swift 6.3 crashes at ordinary catches of calls that declare the type of their errors.
@Suite(.timeLimit(.minutes(60))) struct CatchTests {
    @Test(arguments: ["-Onone", "-O"]) func ordinaryCatchesCompile(_ optimization: String) throws {
        var random = SeededGenerator()
        for _ in 0..<(LongTests.areOn ? 20 : 1) {
            let programs = (0..<100).map { CatchProgram.source(named: "f\($0)", &random) }
            guard let problem = try Self.problem(programs, optimization) else { continue }
            let found = try Self.smallest(programs, optimization)
            Issue.record("\(problem)\n\(found.joined(separator: "\n"))")
        }
    }

    @Test(arguments: ["-Onone", "-O"]) func ordinaryCatchesCompileAtTheTopLevel(_ optimization: String) throws {
        var random = SeededGenerator()
        let opening = "let db = try Connection(.memory), pool = try DatabaseQueue(.memory), count = 3\n"
        for _ in 0..<(LongTests.areOn ? 20 : 1) {
            let bodies = (0..<10).map { _ in "do {\n\(CatchProgram.body(of: .top, &random))\n}" }
            let problem = try Self.problem([opening] + bodies, optimization, file: "main.swift")
            if let problem { Issue.record("\(problem)\n\(bodies.joined(separator: "\n"))") }
        }
    }

    /// The compiler's words about a file of these programs; nil if it has none.
    private static func problem(_ programs: [String], _ optimization: String, file name: String = "Source.swift") throws -> String? {
        let folder = try TemporaryFolder(), file = folder.path(name), object = folder.path("object.o")
        try "import SQLCipherKit\n\n\(programs.joined(separator: "\n"))\n".write(toFile: file, atomically: true, encoding: .utf8)
        let library = name == "main.swift" ? [] : ["-parse-as-library"]
        let outcome = try Command.run(
            "swiftc", try [optimization, "-c", "-swift-version", "6"] + library + Typecheck.modules() + [file, "-o", object])
        if outcome.status == 0, !outcome.errors.contains("warning:") { return nil }
        return "status \(outcome.status): \(outcome.errors.prefix(2000))"
    }

    /// One program that has a problem by itself, or all if only all together have one.
    private static func smallest(_ programs: [String], _ optimization: String) throws -> [String] {
        var left = programs
        while left.count > 1 {
            let halves = [Array(left.prefix(left.count / 2)), Array(left.dropFirst(left.count / 2))]
            guard let half = try halves.first(where: { try problem($0, optimization) != nil }) else { return left }
            left = half
        }
        return left
    }
}

/// A function, a closure or a method that calls the package and catches its errors.
private enum CatchProgram {
    enum Place: CaseIterable {
        case function, asynchronous, method, actor, closure, initializer, top
    }

    static func source(named name: String, _ random: inout SeededGenerator) -> String {
        let place = Place.allCases.dropLast().randomElement(using: &random) ?? .function
        let body = body(of: place, &random)
        let parameters = "(_ db: Connection, _ pool: DatabaseQueue, _ count: Int)"
        return switch place {
        case .function, .top: "func \(name)\(parameters) throws {\n\(body)\n}"
        case .asynchronous: "func \(name)(_ pool: DatabaseQueue, _ count: Int) async throws {\n\(body)\n}"
        case .method: "struct S\(name) { func run\(parameters) throws {\n\(body)\n} }"
        case .actor: "actor A\(name) { var failed = 0\nfunc run(_ pool: DatabaseQueue, _ count: Int) async throws {\n\(body)\n} }"
        case .closure: "func \(name)\(parameters) throws { try pool.write { db in\n\(body)\n} }"
        case .initializer: "final class C\(name) { let count: Int\ninit\(parameters) throws {\nself.count = count\n\(body)\n} }"
        }
    }

    static func body(of place: Place, _ random: inout SeededGenerator) -> String {
        let writer = Writer(place: place)
        var lines: [String] = []
        if Bool.random(using: &random) { lines.append(writer.guarded(&random)) }
        for _ in 0..<Int.random(in: 1...2, using: &random) { lines.append(writer.catching(&random, depth: 0)) }
        if Int.random(in: 0..<4, using: &random) == 0 { lines.append(writer.control(&random)) }
        return lines.joined(separator: "\n")
    }

    struct Writer {
        let place: Place

        private var isAsynchronous: Bool { place == .asynchronous || place == .actor }

        /// An expression that throws, with an `Int`, a `Bool` or nothing as its value.
        private func number(_ random: inout SeededGenerator) -> String {
            if isAsynchronous { return #"(try await pool.read { try $0.fetchOne(Int.self, "SELECT 1") ?? 0 })"# }
            return [
                #"(try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0)"#, #"(try db.fetchAll(String.self, "SELECT 'a'").count)"#,
                "(try db.main.tables().count)", #"(try db.prepare("SELECT 1").fetchOne(Int.self) ?? 0)"#,
            ].randomElement(using: &random) ?? "0"
        }

        private func flag(_ random: inout SeededGenerator) -> String {
            if isAsynchronous { return #"(try await pool.read { try $0.fetchOne(Bool.self, "SELECT 1") }) == true"# }
            return [#"try db.fetchOne(Bool.self, "SELECT 1") == true"#, #"try db.main.table("t") != nil"#, "try db.main.verify().isIntact"]
                .randomElement(using: &random) ?? "true"
        }

        private func call(_ random: inout SeededGenerator) -> String {
            if isAsynchronous {
                return [
                    #"try await pool.write { try $0.execute("INSERT INTO t VALUES (1)") }"#,
                    #"print(try await pool.read { try $0.fetchAll(Int.self, "SELECT 1") })"#,
                ].randomElement(using: &random) ?? ""
            }
            return [
                #"try db.execute("INSERT INTO t VALUES (\(count))")"#, #"try db.execute(SQLScript("SELECT 1; SELECT 2"))"#,
                #"try db.transaction { try $0.execute("DELETE FROM t") }"#, #"for row in try db.fetchAll(Int.self, "SELECT 1") { print(row) }"#,
                #"try db.attach(.memory, as: "other", key: .plaintext).detach()"#, #"try db.changeKey(to: .passphrase("new"))"#,
                #"try pool.write { try $0.execute("INSERT INTO t VALUES (1)") }"#, #"_ = try Connection(.file("x.db"), key: .passphrase("k"))"#,
                #"try db.forEach("SELECT 1") { row in print(try row.get(0, as: Int.self)) }"#,
            ].randomElement(using: &random) ?? ""
        }

        func guarded(_ random: inout SeededGenerator) -> String {
            let out = ["fatalError()", "throw CancellationError()", #"preconditionFailure("no")"#] + (place == .top ? [] : ["return"])
            return "guard \(flag(&random)) else { \(out.randomElement(using: &random) ?? "") }"
        }

        func control(_ random: inout SeededGenerator) -> String {
            let call = call(&random), number = number(&random)
            return [
                "if \(flag(&random)) { \(call) } else { print(\(number)) }", "switch \(number) {\ncase 0: \(call)\ndefault: break\n}",
                "for each in 0..<2 where each < count { \(call) }", "defer { print(count) }\n\(call)",
                "var left = 2\nwhile left > 0, \(flag(&random)) { left -= 1\n\(call) }", "let found = \(number)\nprint(found)\n\(call)",
            ].randomElement(using: &random) ?? ""
        }

        func catching(_ random: inout SeededGenerator, depth: Int) -> String {
            var body = [call(&random)]
            if Bool.random(using: &random) { body.append("print(count)") }
            if Int.random(in: 0..<3, using: &random) == 0 { body.append(call(&random)) }
            if depth < 1, Int.random(in: 0..<3, using: &random) == 0 { body.append(catching(&random, depth: depth + 1)) }
            if Int.random(in: 0..<4, using: &random) == 0 { body.insert(guarded(&random), at: 0) }
            let conditional = [
                "catch let error as DatabaseError where error.reason == .busy { print(error) }",
                "catch let error as DatabaseError where error.code == .constraintUnique && count > 1 { throw error }",
                "catch let error where (error as? DatabaseError)?.reason == .timeout { print(error) }",
            ]
            let typed = [
                "catch let error as DatabaseError { print(error.message) }", "catch is DatabaseError { print(count) }",
                "catch let error as DatabaseError { throw error }",
            ]
            let whole = [
                "catch { print(error) }", "catch { throw error }",
                "catch {\n\(depth < 1 ? catching(&random, depth: depth + 1) : call(&random))\n}",
                "catch { guard let error = error as? DatabaseError else { throw error }\nprint(error.reason) }",
            ]
            var catches: [String] = []
            if Bool.random(using: &random) { catches.append(conditional.randomElement(using: &random) ?? "") }
            if Bool.random(using: &random) { catches.append(typed.randomElement(using: &random) ?? "") }
            if catches.isEmpty || Bool.random(using: &random) { catches.append(whole.randomElement(using: &random) ?? "") }
            return "do {\n\(body.joined(separator: "\n"))\n} \(catches.joined(separator: " "))"
        }
    }
}
