import SQLCipherKit

/// A row as a JSON object.
private struct ObjectText {
    private let names: [String]

    init(_ columns: [String]) {
        // An object with two members of one name would lose a value in most readers.
        var seen: [String: Int] = [:]
        names = columns.map { name in
            seen[name, default: 0] += 1
            return seen[name] == 1 ? name : "\(name):\(seen[name] ?? 0)"
        }
    }

    func line(_ row: [SQLValue]) throws -> String {
        let members = zip(names, row).map { (name: $0, value: JSONValue(shown: $1)) }
        return try JSONValue.object(JSONObject(members: members)).line()
    }
}

/// An object per row, a line each.
final class JSONLinesWriter: RowWriter {
    private let object: ObjectText

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: [SQLValue]) throws { Output.line(try object.line(row)) }

    func finish() {}
}

/// A JSON array with an object per row, a line each.
final class JSONWriter: RowWriter {
    private let object: ObjectText
    // A row is written when the next one comes, as only the last has no comma behind it.
    private var pending: String?

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: [SQLValue]) throws {
        let object = try object.line(row)
        if let pending { Output.line(pending + ",") }
        pending = (pending == nil ? "[" : " ") + object
    }

    func finish() { Output.line((pending ?? "[") + "]") }
}
