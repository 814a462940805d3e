import Foundation

/// GRDB and SQLCipherKit on one encrypted file.
@main struct GRDBLayers {
    static let passphrase = "correct horse"

    struct Failure: Error { let description: String }

    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { throw Failure(description: "COMMAND FILE [ROWS]") }
        let path = arguments[1], rows = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
        switch arguments[0] {
        case "turns": try turns(path)
        case "create": try GRDBLayer(path).create()
        case "fill-grdb": try GRDBLayer(path).fill(rows)
        case "fill-kit": try KitLayer(path).fill(rows)
        case "count": try count(path, rows)
        default: throw Failure(description: "unknown command")
        }
    }

    static func expect<Value: Equatable>(_ value: Value, _ expected: Value, _ what: String) throws {
        guard value == expected else { throw Failure(description: "\(what): \(value), not \(expected)") }
    }

    /// Both layers in turn, in one process: each reads the other's rows.
    static func turns(_ path: String) throws {
        let date = Date(timeIntervalSince1970: 1_795_249_800.25)
        do {
            let grdb = try GRDBLayer(path)
            try grdb.create()
            try grdb.add("GRDB", date)
            try grdb.close()
        }
        do {
            let kit = try KitLayer(path)
            try expect(kit.notes(), [Note(title: "GRDB", created: date)], "SQLCipherKit reads")
            try expect(kit.search("grdb"), ["GRDB"], "SQLCipherKit finds")
            try kit.add("SQLCipherKit", date + 1)
            kit.close()
        }
        let grdb = try GRDBLayer(path)
        try expect(grdb.notes(), [Note(title: "GRDB", created: date), Note(title: "SQLCipherKit", created: date + 1)], "GRDB reads")
        try expect(grdb.search("sqlcipherkit"), ["SQLCipherKit"], "GRDB finds")
        try expect(grdb.titles(), ["GRDB", "SQLCipherKit"], "a library over GRDB reads")
        print("GRDB, a library over it, and SQLCipherKit read what the other has written")
    }

    /// The rows that two processes have written, counted by both.
    static func count(_ path: String, _ rows: Int) throws {
        let expected = ["grdb \(rows) \(rows * (rows + 1) / 2)", "kit \(rows) \(rows * (rows + 1) / 2)"]
        do {
            let grdb = try GRDBLayer(path)
            try expect(grdb.tally(), expected, "GRDB counts")
            try grdb.close()
        }
        let kit = try KitLayer(path)
        try expect(kit.tally(), expected, "SQLCipherKit counts")
        try expect(kit.problems(), [], "SQLCipherKit verifies")
        print("two processes wrote \(rows) transactions each at once: all are there")
    }
}

/// A row that both read. GRDB's form of dates, which SQLCipherKit's profile of that name has too.
struct Note: Codable, Equatable, Sendable {
    var title: String
    var created: Date
}
