import SQLCipherKit

/// A row as a JSON object.
private struct ObjectText {
    private let names: [String]

    init(_ columns: [String]) {
        // Most readers of an object with two members of one name lose a value.
        var seen: [String: Int] = [:]
        names = columns.map { name in
            seen[name, default: 0] += 1
            return seen[name] == 1 ? name : "\(name):\(seen[name] ?? 0)"
        }
    }

    func line(_ row: [JSONValue]) throws -> String {
        try JSONValue.object(JSONObject(members: zip(names, row).map { (name: $0, value: $1) })).line()
    }
}

/// A writer of rows that can hold arrays and objects.
protocol ObjectWriter: RowWriter {
    func write(_ row: [JSONValue]) throws
}

extension ObjectWriter {
    func write(_ row: [SQLValue]) throws { try write(row.map { JSONValue(shown: $0) }) }
}

/// One JSON object per row, each on its own line.
final class JSONLinesWriter: ObjectWriter {
    private let object: ObjectText

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: [JSONValue]) throws { Output.line(try object.line(row)) }

    func finish() {}
}

/// A JSON array with one object per row, each on its own line.
final class JSONWriter: ObjectWriter {
    private let object: ObjectText
    // A row is written when the next one arrives, as only the last has no comma after it.
    private var pending: String?

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: [JSONValue]) throws {
        let object = try object.line(row)
        if let pending { Output.line(pending + ",") }
        pending = (pending == nil ? "[" : " ") + object
    }

    func finish() { Output.line((pending ?? "[") + "]") }
}
