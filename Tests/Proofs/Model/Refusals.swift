import Foundation
import SQLCipherKit

/// SQL that reaches for a key, a cipher setting or a file: refused, and without any effect.
struct RefusedStep: Step {
    var sql: String
    var call = SQLStep.Call.execute

    func run(in world: World) throws {
        let before = files(world)
        let sql = SQL(raw: sql.replacingOccurrences(of: "FOLDER", with: world.folder.path))
        // A schema that is not attached is an error of its own.
        let names = ["main"] + world.attached.map(\.name)
        let isKnown = !self.sql.contains("\".") || names.contains { self.sql.contains($0.quotedSQLIdentifier + ".") }
        try world.only(isKnown ? .refused(.refusedSQL) : .error) { db in
            switch call {
            case .forEach: .rows(try Contents.rows(db, sql))
            case .prepared: .rows(try db.prepare(sql).fetchAll(OwnedRow.self).map(\.values))
            case .script:
                try { try db.execute(SQLScript(sql.text)); return .done }()
            default: try { try db.execute(sql); return .done }()
            }
        }
        guard files(world) == before else { throw Mismatch(description: "there are other files than before: \(files(world))") }
    }

    private func files(_ world: World) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: world.folder.path)) ?? []).filter { $0.hasPrefix("stray") }
    }

    var description: String { "try db.\(call)(\(show(sql)))  // refused" }
}

extension Sketch {
    mutating func refusedStep() -> (any Step)? {
        let schema = dice.pick(schemas).quotedSQLIdentifier
        return RefusedStep(sql: dice.pick([
            "PRAGMA key = 'x'", "PRAGMA \(schema).rekey = 'x'", "PRAGMA rekey", "PRAGMA hexkey='00'", "PRAGMA \(schema).textkey('x')",
            "PRAGMA hexrekey = '00'", "PRAGMA cipher_page_size = 1024", "PRAGMA kdf_iter = 1", "PRAGMA cipher_migrate",
            "PRAGMA cipher_default_kdf_iter = 1", "PRAGMA cipher_use_hmac = OFF", "PRAGMA cipher_plaintext_header_size = 32",
            "PRAGMA cipher_log = 'FOLDER/stray'", "PRAGMA cipher_memory_security = ON",
            "ATTACH 'FOLDER/stray.db' AS stray", "ATTACH 'FOLDER/stray.db' AS stray KEY 'k'", "ATTACH ':memory:' AS stray KEY 'k'",
            "PRAGMA /* */ KEY(x)", "EXPLAIN PRAGMA rekey = 'x'", "ATTACH DATABASE 'file:FOLDER/stray.db?key=x' AS stray",
        ]), call: dice.pick([.execute, .forEach, .prepared, .script]))
    }

    /// SQL and arguments that fail in ordinary ways.
    mutating func badStep() -> (any Step)? {
        switch dice.below(11) {
        case 0: SQLStep(sql: "SELEC 1", call: call())
        case 1: SQLStep(sql: "", call: .forEach)
        case 2: SQLStep(sql: "-- nothing", call: .execute)
        case 3: SQLStep(sql: "SELECT 1; SELECT 2", call: .execute)
        case 4: SQLStep(sql: "SELECT ?", values: [1, 2], call: .forEach)
        case 5: SQLStep(sql: "SELECT ?, ?", values: [1], call: .prepared)
        case 6: SQLStep(sql: "SELECT 1\u{0}", call: .execute)
        case 7: SQLStep(sql: "SELECT abs(-9223372036854775808)", call: .forEach)
        case 8: SQLStep(sql: "INSERT INTO \"no such\" VALUES (1)", call: .execute)
        case 9: SQLStep(sql: "SELECT \"text\"", call: .forEach)
        default: SQLStep(sql: "SELECT zeroblob(2000000000)", call: .stepped)
        }
    }
}
