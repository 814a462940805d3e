import Foundation
import SQLCipherKit

/// A document that is written, read and changed by the package, and by SQLite's functions in the reference.
struct JSONStep: Step {
    enum Change: Sendable { case none, set(Int), insert(Int), remove, append(Int) }

    var value: JSONValue
    var path: [String]
    var change: Change
    var isBinary: Bool

    private static let table = "CREATE TABLE IF NOT EXISTS main.jdoc(id INTEGER PRIMARY KEY, doc)"

    func run(in world: World) throws {
        guard !world.isAborted else { return }
        let text = Self.text(value)
        _ = try world.reference.must(Self.table)
        _ = try world.reference.must("INSERT OR REPLACE INTO main.jdoc VALUES (1, \(isBinary ? "jsonb" : "json")(?))", [.text(text)])
        try world.only(.text(text)) { db in
            try db.execute(SQL(raw: Self.table))
            if isBinary { try db.execute("INSERT OR REPLACE INTO main.jdoc VALUES (1, \(try value.jsonb()))") } else {
                try db.execute("INSERT OR REPLACE INTO main.jdoc VALUES (1, \(try value.text()))")
            }
            let back = try db.fetchOne(JSONValue.self, "SELECT doc FROM main.jdoc WHERE id = 1")
            guard let back, back == value else { return .text("read back: \(back.map { Self.text($0) } ?? "nothing")") }
            return .text(Self.text(back))
        }
        let quoted = "'$" + path.map { ".\"\($0)\"" }.joined() + "'"
        try world.both { db in
            let doc = JSONExpression(column: "doc")
            let at = JSONPath(components: path.map { .key($0) })
            return .rows(try Contents.rows(db, "SELECT \(doc.type(at)), \(doc.value(at)), \(doc.at(at)) FROM main.jdoc WHERE id = 1"))
        } _: { reference in
            reference.run("SELECT json_type(doc, \(quoted)), doc ->> \(quoted), doc -> \(quoted) FROM main.jdoc WHERE id = 1")
        }
        try changed(world, quoted)
    }

    private func changed(_ world: World, _ quoted: String) throws {
        let at = JSONPath(components: path.map { .key($0) }), prefix = isBinary ? "jsonb" : "json"
        try world.both { db in
            let count = switch change {
            case .none: 1
            case .set(let number): try db.main.updateJSON("doc", in: "jdoc", where: "id = 1", .set(at, to: number))
            case .insert(let number): try db.main.updateJSON("doc", in: "jdoc", where: "id = 1", .insert(number, at: at))
            case .append(let number): try db.main.updateJSON("doc", in: "jdoc", where: "id = 1", .append(number, toArrayAt: at))
            case .remove: try db.main.updateJSON("doc", in: "jdoc", where: "id = 1", .remove(at))
            }
            return .text("\(count)")
        } _: { reference in
            let new: String? = switch change {
            case .none: nil
            case .set(let number): "\(prefix)_set(doc, \(quoted), json('\(number)'))"
            case .insert(let number): "\(prefix)_insert(doc, \(quoted), json('\(number)'))"
            case .append(let number): "\(prefix)_insert(doc, \(quoted.dropLast())[#]', json('\(number)'))"
            case .remove: "\(prefix)_remove(doc, \(quoted))"
            }
            if let new { _ = try reference.must("UPDATE main.jdoc SET doc = \(new) WHERE id = 1") }
            return .text("1")
        }
    }

    /// The document's text, written here.
    static func text(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .decimal(let value): "\(value)"
        case .string(let value): quote(value)
        case .array(let values): "[" + values.map { text($0) }.joined(separator: ",") + "]"
        case .object(let object): "{" + object.keys.map { quote($0) + ":" + text(object[$0] ?? .null) }.joined(separator: ",") + "}"
        }
    }

    private static func quote(_ text: String) -> String {
        "\"" + text.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            default: scalar.value < 32 ? "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16) : "\(scalar)"
            }
        }.joined() + "\""
    }

    var simpler: [any Step] {
        var plain = self
        plain.change = .none
        if case .none = change { return [] }
        return [plain]
    }

    var description: String {
        "try db.execute(\"INSERT OR REPLACE INTO jdoc VALUES (1, \(isBinary ? "jsonb" : "text"))\"), \(Self.text(value))); read \(path); change: \(change)"
    }
}

extension Sketch {
    mutating func jsonStep() -> (any Step)? {
        JSONStep(
            value: .object(object(2)), path: (0..<1 + dice.below(2)).map { _ in dice.pick(["a", "b", "é", "e\u{301}"]) },
            change: dice.pick([.none, .set(5), .insert(-1), .remove, .append(3)]), isBinary: dice.oneIn(2))
    }

    private mutating func object(_ depth: Int) -> JSONObject {
        var object = JSONObject()
        for key in ["a", "b", "é", "e\u{301}"].prefix(dice.below(5)) { object[key] = json(depth) }
        return object
    }

    private mutating func json(_ depth: Int) -> JSONValue {
        switch dice.below(depth > 0 ? 8 : 6) {
        case 0: .null
        case 1: .bool(dice.oneIn(2))
        case 2: .integer(dice.pick([0, -1, 1 << 62, .min]))
        case 3: .real(dice.pick([0.5, 1e300, -2.25]))
        case 4, 5: .string(dice.pick(["", "x", "it's \"q\" \\", "é🐢", "a\u{1}b", "NULL"]))
        case 6: .array((0..<dice.below(4)).map { _ in json(depth - 1) })
        default: .object(object(depth - 1))
        }
    }
}
