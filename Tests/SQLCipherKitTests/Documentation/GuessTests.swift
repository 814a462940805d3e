import Foundation
import Testing
import TestSupport

/// Code that people write before they have read anything compiles, or the compiler names the call: Tests/Guesses/Guesses.txt.
@Suite(.timeLimit(.minutes(60))) struct GuessTests {
    /// A guess, or the right call in its place.
    private struct Block {
        var title: Substring
        var code: Substring
        var isRight = false
        /// The text that an error has to contain. Nil for code that compiles, "?" for a guess whose error need not help.
        var hint: String?
        /// The lines of the source that has it.
        var lines = 0..<0
    }

    private static let setting = """
        import SQLCipherKit
        struct Player: SQLRecord, Identifiable {
            var id: Int64?
            var name: String
            var score: Int
            static let table = SQLTable(of: Player.self) { $0.id.primaryKey(); $0.name; $0.score }
        }
        struct Note: SQLRecord, Identifiable {
            var id: Int64?
            var title: String
            var body: String
            static let table = SQLTable(of: Note.self) { $0.id.primaryKey(); $0.title; $0.body }
        }

        """

    private static func blocks() throws -> [Block] {
        let text = try String(contentsOf: Repository.file("Tests/Guesses/Guesses.txt"), encoding: .utf8)
        return text.components(separatedBy: "\n== ").dropFirst().flatMap { part -> [Block] in
            let part = part[...], end = part.firstIndex(of: "\n") ?? part.endIndex
            let title = part[..<end], code = part[end...]
            guard let arrow = code.range(of: "\n-> ") else { return [Block(title: title, code: code)] }
            let rest = code[arrow.upperBound...], line = rest.firstIndex(of: "\n") ?? rest.endIndex
            let hint = String(rest[..<line])
            let guess = Block(title: title, code: code[..<arrow.lowerBound], hint: hint)
            return hint == "?" ? [guess] : [guess, Block(title: title, code: rest[line...], isRight: true)]
        }
    }

    @Test func guessedCallsCompileOrNameTheRightCall() throws {
        var blocks = try Self.blocks(), source = Self.setting
        for (number, block) in blocks.enumerated() {
            let first = source.count { $0 == "\n" } + 1
            source += "func f\(number)(\n_ path: String, _ db: Connection, _ dbQueue: DatabaseQueue, _ dbPool: DatabasePool, "
            source += "_ player: Player, _ row: borrowing Row\n) \(block.code.contains("await") ? "async " : "")throws {\(block.code)\n}\n"
            blocks[number].lines = first..<source.count { $0 == "\n" } + 1
        }
        let errors = try Typecheck.errors(of: source)
        #expect(errors.allSatisfy { line, _ in blocks.contains { $0.lines.contains(line) } }, "\(errors)")
        for block in blocks {
            let said = errors.filter { block.lines.contains($0.line) }.map(\.text)
            switch block.hint {
            case nil: #expect(said.isEmpty, "\(block.title)\(block.isRight ? ", the right call" : "")")
            case "?": #expect(!said.isEmpty, "\(block.title) is accepted: take its mark away")
            case let hint?: #expect(said.contains { $0.contains(hint) }, "\(block.title): \(said) has no “\(hint)”")
            }
        }
        let guesses = blocks.filter { !$0.isRight }
        let accepted = guesses.count { $0.hint == nil }, named = guesses.count { $0.hint != nil && $0.hint != "?" }
        #expect(guesses.count >= 70 && accepted + named >= guesses.count - 1, "\(accepted) are accepted, \(named) are named")
    }
}
