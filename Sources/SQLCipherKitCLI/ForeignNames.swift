import ArgumentParser
import Foundation
import SQLCipherKit
import SQLCipherKitCore
import SQLCipherKitFiles

extension ForeignName {
    /// The tables with content that need such names, each with the first name that it needs. Only compiles statements.
    static func needed(by schema: Schema) throws -> [(table: String, name: ForeignName)] {
        try schema.tablesOfMissingNames(isOrdered: true).compactMap { table, error in
            ForeignName(error.message).map { (table, $0) }
        }
    }

    /// Refuses what would run such names.
    /// - Parameter advice: the way that does without them.
    static func requireNone(in schema: Schema, for command: String, advice: String? = nil) throws {
        guard let (table, name) = try needed(by: schema).first else { return }
        throw Failure(
            "\(command) needs the \(name.kind) \(name.name) of the table \(table), which only the program that made the database "
                + "has" + (advice.map { ": \($0)" } ?? ""))
    }

    /// Lets tables be read that are ordered by a collation of another program, in the order in which they are stored.
    /// - Returns: a check to make at the end: it throws if values had to be compared.
    static func readingStoredOrder(of schema: Schema) throws -> () throws -> Void {
        let compared = Lock<String?>(nil)
        var known: Set<ForeignName> = []
        // A table can need several, and each shows when the former is there.
        while case let missing = try Set(needed(by: schema).map(\.name).filter { $0.kind == "collation" }).subtracting(known),
            !missing.isEmpty
        {
            known.formUnion(missing)
            for name in missing.map(\.name) {
                try schema.connection.register(
                    .collation(name) { _, _ in
                        compared.withLock { $0 = name }
                        return .orderedSame
                    })
            }
        }
        return {
            guard let name = compared.withLock({ $0 }) else { return }
            throw Failure(
                "a table has a key that is compared by the collation \(name), which only the program that made the database has")
        }
    }
}

/// The option to go on without names that only another program has.
struct LeaveOutOptions: ParsableArguments {
    @Option(
        name: .customLong("leave-out"),
        help: ArgumentHelp(
            """
            Go on without a collation, function, tokenizer or module that only another program has; may be given several times.
            """, valueName: "name"))
    var names: [String] = []

    /// A statement of a script without the names; nil if nothing is left of it, which is said.
    func apply(to sql: String) -> String? {
        var sql = sql
        for name in names {
            guard let rest = SchemaDefinition(sql)?.without(name) else { continue }
            if rest.isEmpty {
                Output.error("left out, as it needs \(name): \(sql.prefix(60))".onOneLine)
                return nil
            }
            sql = rest
        }
        return sql
    }

    func apply(to sql: [UInt8]) -> [UInt8]? {
        names.isEmpty ? sql : apply(to: String(decoding: sql, as: UTF8.self)).map { Array($0.utf8) }
    }
}
