import Foundation
import SQLCipherKit

/// A call of a key-value store of the main database. The reference has the same table and plain SQL.
struct KeyValueStep: Step {
    enum Call: Sendable {
        case set(String, SQLValue, expires: Date?)
        case setCoded(String, [String: Int])
        case setAll([String], SQLValue)
        case remove(String)
        case removeAll(prefix: String)
        case get(String)
        case getCoded(String)
        case keys(prefix: String)
        case purge
    }

    var store: String
    var call: Call

    private var table: String { "main." + "kv_\(store)".quotedSQLIdentifier }
    private static let insert = "(key, value, json, expires) VALUES (?1, ?2, "
    private static let update = ") ON CONFLICT(key) DO UPDATE SET value = excluded.value, json = excluded.json, expires = excluded.expires"

    func run(in world: World) throws {
        try world.both(perform, { try model($0) })
    }

    private func perform(_ db: Connection) throws -> Outcome {
        let store = try KeyValueStore(store, in: db)
        switch call {
        case .set(let key, let value, let expiry): try store.set(key, to: value, expires: expiry)
        case .setCoded(let key, let value): try store.set(key, to: value)
        case .setAll(let keys, let value): try store.setAll(keys.map { (key: $0, value: value) })
        case .remove(let key): return .text("\(try store.remove(key))")
        case .removeAll(let prefix): try store.removeAll(prefix: prefix)
        case .get(let key):
            let found: SQLValue?? = try store.get(key, as: SQLValue?.self)
            return .text("\(try store.contains(key)) \(show((found ?? nil) ?? .null))")
        case .getCoded(let key):
            let found = try store.get(key, as: [String: Int].self)
            return .text(found.map { "\($0.sorted { $0.key < $1.key })" } ?? "none")
        case .keys(let prefix): return .text("\(try store.keys(prefix: prefix)) \(try store.count(prefix: prefix))")
        case .purge: return .text("\(try store.purgeExpired())")
        }
        return .done
    }

    private func model(_ reference: Reference) throws -> Outcome {
        let name = "kv_\(store)"
        let exists = try !reference.must("SELECT 1 FROM main.sqlite_schema WHERE name = ?", [.text(name)]).isEmpty
        let now = SQLValue.integer(Int64(Date().timeIntervalSince1970 * 1000))
        let alive = "(expires IS NULL OR expires > ?1)"
        func prepare(_ expires: Bool) throws {
            if !exists {
                _ = try reference.must(
                    "CREATE TABLE IF NOT EXISTS \(table)(key TEXT PRIMARY KEY NOT NULL, value, json BLOB, expires INTEGER) WITHOUT ROWID")
            }
            if expires {
                let index = "main." + "expires_\(name)".quotedSQLIdentifier
                _ = try reference.must(
                    "CREATE INDEX IF NOT EXISTS \(index) ON \(name.quotedSQLIdentifier)(expires) WHERE expires IS NOT NULL")
            }
        }
        switch call {
        case .set(let key, let value, let expiry):
            try prepare(expiry != nil)
            if case .real(let number) = value, number.isNaN { return .refused(.invalidArgument) }
            let expires = expiry.map { SQLValue.integer(Int64($0.timeIntervalSince1970 * 1000)) } ?? .null
            _ = try reference.must("INSERT INTO \(table)\(Self.insert)NULL, ?3\(Self.update)", [.text(key), value, expires])
            return .done
        case .setCoded(let key, let value):
            try prepare(false)
            let json = "{" + value.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
            _ = try reference.must("INSERT INTO \(table)\(Self.insert)jsonb(?3), NULL\(Self.update)", [.text(key), .null, .text(json)])
            return .done
        case .setAll(let keys, let value):
            if keys.isEmpty { return .done }
            if case .real(let number) = value, number.isNaN { return .refused(.invalidArgument) }
            try prepare(false)
            for key in keys { _ = try reference.must("INSERT INTO \(table)\(Self.insert)NULL, NULL\(Self.update)", [.text(key), value]) }
            return .done
        case .remove(let key):
            guard exists else { return .text("false") }
            let rows = try reference.must("DELETE FROM \(table) WHERE key = ?2 RETURNING \(alive)", [now, .text(key)])
            return .text("\(rows == [[.integer(1)]])")
        case .removeAll(let prefix):
            guard exists else { return .done }
            for key in try keys(reference, prefix) { _ = try reference.must("DELETE FROM \(table) WHERE key = ?", [.text(key)]) }
            return .done
        case .get(let key):
            guard exists else { return .text("false nil") }
            let rows = try reference.must("SELECT value, json FROM \(table) WHERE key = ?2 AND \(alive)", [now, .text(key)])
            guard let row = rows.first else { return .text("false nil") }
            // A value that is stored as JSON cannot be read as one of SQL.
            return row[1] == .null ? .text("true \(show(row[0]))") : .error
        case .getCoded(let key):
            guard exists else { return .text("none") }
            let rows = try reference.must(
                "SELECT value, json(json), json FROM \(table) WHERE key = ?2 AND \(alive)", [now, .text(key)])
            guard let row = rows.first else { return .text("none") }
            guard case .text(let text) = row[1] else { return row[0] == .null ? .refused(.unexpectedNull) : .error }
            let value = try JSONDecoder().decode([String: Int].self, from: Data(text.utf8))
            return .text("\(value.sorted { $0.key < $1.key })")
        case .keys(let prefix):
            let found = exists ? try keys(reference, prefix, "WHERE \(alive)", [now]) : []
            return .text("\(found) \(found.count)")
        case .purge:
            guard exists else { return .text("0") }
            return .text("\(try reference.must("DELETE FROM \(table) WHERE expires <= ?1 RETURNING 1", [now]).count)")
        }
    }

    /// The keys with a prefix, byte by byte.
    private func keys(_ reference: Reference, _ prefix: String, _ condition: String = "", _ values: [SQLValue] = []) throws -> [String] {
        try reference.must("SELECT key FROM \(table) \(condition) ORDER BY key", values).compactMap { row in
            guard case .text(let key) = row[0], key.utf8.starts(with: prefix.utf8) else { return nil }
            return key
        }
    }

    var description: String {
        let text = switch call {
        case .set(let key, let value, let expiry): "set(\(show(key)), to: \(show(value))\(expiry.map { ", expires: \($0)" } ?? ""))"
        case .setCoded(let key, let value): "set(\(show(key)), to: \(value))"
        case .setAll(let keys, let value): "setAll([\(keys.map { show($0) }.joined(separator: ", "))], to: \(show(value)))"
        case .remove(let key): "remove(\(show(key)))"
        case .removeAll(let prefix): "removeAll(prefix: \(show(prefix)))"
        case .get(let key): "get(\(show(key)))"
        case .getCoded(let key): "get(\(show(key)), as: [String: Int].self)"
        case .keys(let prefix): "keys(prefix: \(show(prefix)))"
        case .purge: "purgeExpired()"
        }
        return "try KeyValueStore(\(show(store)), in: db).\(text)"
    }
}

extension Sketch {
    mutating func keyValueStep() -> (any Step)? {
        let keys = ["a", "b", "", "ab", "é", "e\u{301}", "a\u{0}b", "🐢🐢", "\u{10FFFF}x", "🐢"]
        let key = dice.pick(keys)
        let call: KeyValueStep.Call
        switch dice.below(14) {
        case 0, 1, 2: call = .set(key, dice.value(), expires: nil)
        case 3: call = .set(key, dice.value(), expires: Date(timeIntervalSince1970: dice.pick([0, 1000.125, 4_000_000_000, -5])))
        case 4: call = .setCoded(key, dice.pick([[:], ["x": 1], ["é": -70000]]))
        case 5: call = .setAll([dice.pick(keys), dice.pick(keys)], dice.value())
        case 6, 7: call = .remove(key)
        case 8: call = .removeAll(prefix: dice.pick(["", "a", "🐢", "\u{10FFFF}"]))
        case 9, 10: call = .get(key)
        case 11: call = .getCoded(key)
        case 12: call = .keys(prefix: dice.pick(["", "a", "e", "🐢", "\u{10FFFF}"]))
        default: call = .purge
        }
        return KeyValueStep(store: dice.pick(["s", "s", "t \"q\""]), call: call)
    }
}
