import Foundation
import Testing
import TestSupport

/// The commonest slips in a query's closures: the compiler's only error is at the term, and names the types that do not fit.
@Suite(.timeLimit(.minutes(60))) struct SlipTests {
    private static let setting = """
        import Foundation
        import SQLCipherKit
        enum Kind: String, Codable, SQLValueConvertible { case a, b }
        struct Team: SQLRecord, Hashable { var id: UUID; var name: String }
        struct Player: SQLRecord, Hashable {
            var id: Int64, name: String, score: Int, nick: String?, teamID: UUID?, team: UUID, made: Date, kind: Kind, isOn: Bool
            var cost: Decimal, ratio: Double, big: Int64, maybe: Int?
        }
        let text = "a", int = 3, ints = [1, 2], texts = ["a"], date = Date(), team = Team(id: UUID(), name: "x")
        let optionalInt: Int? = 3, optionalText: String? = nil

        """

    /// Each with what its error says.
    private static let slips: [(String, [String])] = [
        ("$0.name == 3", ["Int", "String"]), ("$0.name != 3", ["Int", "String"]), ("$0.name < 3", ["Int", "String"]),
        ("$0.name == int", ["Int", "String"]), ("$0.score > text", ["String", "Int"]), ("$0.score == \"3\"", ["String", "Int"]),
        ("$0.score >= \"3\"", ["String", "Int"]), ("$0.id == \"a\"", ["String", "Int64"]), ("$0.big == int", ["Int", "Int64"]),
        ("$0.name.in(ints)", ["Int", "String"]), ("$0.score.in(texts)", ["String", "Int"]), ("$0.made.in(ints)", ["Int", "Date"]),
        ("$0.nick.in(ints)", ["Int", "String"]), ("$0.teamID.in(texts)", ["String", "UUID"]),
        ("$0.teamID == int", ["Int", "UUID"]), ("$0.teamID == team.name", ["String", "UUID"]), ("$0.team == team", ["Team", "UUID"]),
        ("$0.team == \"9A\"", ["String", "UUID"]), ("$0.teamID != \"9A\"", ["String", "UUID"]), ("$0.team == int", ["Int", "UUID"]),
        ("$0.nick == 3", ["Int", "String"]), ("$0.nick > 3", ["Int", "String"]), ("$0.maybe == \"a\"", ["String", "Int"]),
        ("$0.maybe < text", ["String", "Int"]), ("$0.maybe == date", ["Date", "Int"]),
        ("$0.made == \"2020\"", ["String", "Date"]), ("$0.made > int", ["Int", "Date"]), ("$0.made < 3.5", ["Double", "Date"]),
        ("$0.kind == \"a\"", ["String", "Kind"]), ("$0.kind == 1", ["Int", "Kind"]), ("$0.kind == Kind.c", ["Kind", "no member 'c'"]),
        ("$0.isOn == \"yes\"", ["String", "Bool"]), ("$0.isOn == int", ["Int", "boolean"]),
        ("$0.cost > text", ["String", "Decimal"]), ("$0.cost == int", ["Int", "Decimal"]), ("$0.ratio > int", ["Int", "Double"]),
        ("$0.score == 3.5", ["Double", "Int"]), ("$0.score > optionalInt", ["Int?", "Int"]),
        ("$0.score == optionalText", ["String?", "Int"]), ("$0.score == $0.name", ["Int", "String"]),
        ("$0.team == $0.name", ["UUID", "String"]), ("$0.score == $0.nick", ["Int", "String"]), ("$0.made > $0.score", ["Date", "Int"]),
        ("$0.nmae == \"a\"", ["Player", "nmae"]), ("$0.name", ["SQLExpression<String>", "SQLPredicate"]),
        ("$0.score && $0.isOn", ["SQLExpression<Int>", "SQLExpression<Bool>"]), ("!$0.score", ["SQLExpression<Int>", "SQLExpression<Bool>"]),
        ("$0.isOn && \"a\"", ["String", "SQLExpression<Bool>"]), ("$0.score > 3 && $0.name == 3", ["Int", "String"]),
        ("3 < $0.score", ["column first"]), ("int == $0.big", ["column first"]), ("text != $0.name", ["column first"]),
        ("date >= $0.made", ["column first"]), ("text == $0.nick", ["column first"]), ("$0.isOn && 3 >= $0.score", ["column first"]),
        ("$0.name == \"a\" || $0.score == \"x\" || $0.isOn", ["String", "Int"]), ("$0.score + 1 > \"a\"", ["String", "Int"]),
        ("$0.name.upper == \"A\"", ["SQLExpression<String>", "upper"]),
    ]

    /// Other closures than conditions.
    private static let others: [(String, [String])] = [
        ("Player.order { $0.nmae }", ["Player", "nmae"]), ("Player.all.select { $0.nmae }", ["Player", "nmae"]),
        ("Player.join(Team.self) { $0.score == $1.id }", ["Int", "UUID"]),
        ("Player.join(Team.self) { $0.teamID == $1.name }", ["UUID", "String"]),
        ("{ (db: Connection) in try db.fetchAll(Player.filter { $0.name == 3 }) }", ["Int", "String"]),
        ("{ (db: Connection) in try db.updateAll(Player.all) { _, set in set(\\.score, to: \"a\") } }", ["String", "Int"]),
    ]

    /// The same comparisons where the types fit.
    private static let right = [
        "$0.name == \"a\" && $0.score > 3 && $0.id == 3 && $0.teamID == nil && $0.nick != nil && $0.maybe == optionalInt",
        "$0.nick == \"a\" && $0.nick > \"b\" && $0.nick == $0.name && $0.nick == optionalText && $0.maybe > 3 && $0.maybe == $0.score",
        "$0.team == team.id && $0.teamID == team.id && $0.teamID == $0.team && $0.made > date && $0.kind == .a && $0.isOn == true",
        "$0.cost > 1.5 && $0.ratio > 1 && $0.ratio == 2.5 && $0.score.in([1, 2]) && $0.nick.in([\"a\", nil]) && $0.kind.in([.a, .b])",
        "$0.score.in(1...3) && $0.nick.in(\"a\"..<\"b\") && ints.contains($0.score) && texts.contains($0.nick) && (1...3).contains($0.maybe)",
        "$0.score.in(Player.all.select { $0.maybe }) && $0.nick.in(Player.all.select { $0.name }) && $0.name.hasPrefix(\"a\")",
        "SQLRowValue($0.nick, $0.id) > (nil, 3) || SQLRowValue($0.score, $0.id, $0.name) == (1, 2, \"a\")",
        "$0.score + 1 > $0.score * 2 - $0.maybe.unwrapped && !($0.isOn || $0.name.contains(\"a\")) && $0.score != $0.maybe",
    ]

    @Test func typeSlipGivesOneErrorThatNamesBothTypes() throws {
        var source = Self.setting, lines: [(number: Int, code: String, wanted: [String])] = []
        func add(_ code: String, _ wanted: [String]) {
            lines.append((source.count { $0 == "\n" } + 1, code, wanted))
            source += "func f\(lines.count)() { _ = \(code) }\n"
        }
        for (code, wanted) in Self.slips { add("Player.filter { \(code) }", wanted) }
        for (code, wanted) in Self.others { add(code, wanted) }
        let errors = try Typecheck.errors(of: source)
        #expect(lines.count >= 50)
        for (number, code, wanted) in lines {
            let said = errors.filter { $0.line == number }.map(\.text)
            #expect(said.count == 1, "\(code): \(said)")
            for part in wanted { #expect(said.first?.contains(part) == true, "\(code): \(said) does not name \(part)") }
        }
    }

    @Test func queriesTypeCheckWithinLimit() throws {
        var source = Self.setting
        for (number, code) in Self.right.enumerated() {
            source += "func f\(number)() { _ = Player.filter { \(code.replacing("$0.maybe.unwrapped", with: "($0.maybe ?? 0)")) } }\n"
        }
        source += "func g() { _ = Player.order { ($0.score.descending, $0.name) }; _ = Player.order(\\.score, \\.name) }\n"
        // Machines that are busy, or slow, take several times as long as a developer's.
        let errors = try Typecheck.errors(of: source, within: 3000)
        #expect(errors.isEmpty, "\(errors)")
    }
}
