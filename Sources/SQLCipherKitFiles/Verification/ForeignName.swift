import SQLCipherKitCore

/// A collation, function, tokenizer or module that a schema names, and that only the program that made the database has.
package struct ForeignName: Hashable {
    package let kind: String
    package let name: String

    private static let messages = [
        ("no such collation sequence: ", "collation"), ("unknown function: ", "function"), ("no such function: ", "function"),
        ("no such tokenizer: ", "tokenizer"), ("no such module: ", "module"),
    ]

    /// Reads the engine's message about a missing name; nil for any other message.
    package init?(_ message: String) {
        for (start, kind) in Self.messages {
            guard let found = message.firstRange(of: start) else { continue }
            self.kind = kind
            name = String(message[found.upperBound...].prefix { $0 != " " && $0 != "(" })
            return
        }
        return nil
    }
}

/// The tokens of a CREATE statement, or of a dump's statement that writes one into the schema.
package struct SchemaDefinition {
    private var tokens: SQLTokens
    private var list: [SQLTokens.Token] = []
    private let sql: [UInt8]

    /// Nil for any other statement.
    package init?(_ text: String) {
        let start = text.prefix(40).uppercased()
        guard start.hasPrefix("CREATE") || start.hasPrefix("INSERT INTO SQLITE_SCHEMA") else { return nil }
        sql = Array(text.utf8)
        tokens = SQLTokens(sql)
        while let token = tokens.next() { list.append(token) }
    }

    private func isWord(_ place: Int, _ word: StaticString) -> Bool {
        list.indices.contains(place) && tokens.isWord(list[place], word)
    }

    private func isName(_ place: Int, _ name: String) -> Bool {
        list.indices.contains(place) && tokens.name(list[place]).isSameName(as: name)
    }

    /// The text without a name; empty if it needs the name as a whole, and nil if it does not have it.
    /// - Parameter keepsStored: whether a stored column that needs it becomes an ordinary one. Otherwise the column goes.
    package func without(_ name: String, keepsStored: Bool = false) -> String? {
        if !isWord(0, "CREATE") {
            // A virtual table's definition is the last value.
            guard let token = list.last(where: { $0.kind == .quoted || $0.kind == .unreadable }) else { return nil }
            var text = SQLTokens(tokens.text(token).utf8.unquoted)
            while let token = text.next() { if text.name(token).isSameName(as: name) { return "" } }
            return nil
        }
        var removed: [Range<Int>] = []
        for place in list.indices where isWord(place, "COLLATE") && isName(place + 1, name) { removed.append(place..<place + 2) }
        let calls = list.indices.dropLast().filter { place in
            isName(place, name) && text(place + 1) == "(" && !isWord(place - 1, "ON") && !isWord(place - 1, "INTO")
        }
        if !isWord(1, "TABLE") {
            let isVirtual = isWord(1, "VIRTUAL") && list.indices.contains { $0 > 2 && isName($0, name) }
            if isVirtual || !calls.isEmpty { return "" }
        } else {
            let items = items, parts = items.map { self.parts(of: $0, calls, keepsStored) }
            removed += parts.joined()
            // The first that stays has no comma before it.
            let first = items.indices.first { parts[$0] != [items[$0]] } ?? 0
            if first > 0 { removed.append(items[first].lowerBound..<items[first].lowerBound + 1) }
        }
        return removed.isEmpty ? nil : text(without: removed)
    }

    private func text(_ place: Int) -> String { tokens.text(list[place]) }

    /// The columns and constraints of a table, with the comma before each.
    private var items: [Range<Int>] {
        var items: [Range<Int>] = [], depth = 0, start = 0
        for place in list.indices {
            switch text(place) {
            case "(":
                depth += 1
                if depth == 1, items.isEmpty { start = place + 1 }
            case ")":
                depth -= 1
                if depth == 0, start < place {
                    items.append(start..<place)
                    return items
                }
            case "," where depth == 1:
                items.append(start..<place)
                start = place
            default: break
            }
        }
        return items
    }

    /// The parts of a column or constraint that call a function.
    private func parts(of item: Range<Int>, _ calls: [Int], _ keepsStored: Bool) -> [Range<Int>] {
        guard calls.contains(where: item.contains) else { return [] }
        let first = text(item.lowerBound) == "," ? item.lowerBound + 1 : item.lowerBound
        if isWord(first, "CHECK") || isWord(first, "CONSTRAINT") { return [item] }
        var parts: [Range<Int>] = [], place = first
        while place < item.upperBound {
            guard text(place) == "(" else {
                place += 1
                continue
            }
            let start = place
            var depth = 0
            repeat {
                if text(place) == "(" { depth += 1 } else if text(place) == ")" { depth -= 1 }
                place += 1
            } while depth > 0 && place < item.upperBound
            guard calls.contains(where: (start..<place).contains) else { continue }
            if isWord(start - 1, "AS") {
                // Any other generated column has no value of its own.
                guard keepsStored, isWord(place, "STORED") else { return [item] }
                parts.append((isWord(start - 2, "ALWAYS") ? start - 3 : start - 1)..<place + 1)
                continue
            }
            parts.append((isWord(start - 3, "CONSTRAINT") ? start - 3 : start - 1)..<place)
        }
        return parts
    }

    private func text(without removed: [Range<Int>]) -> String {
        var text: [UInt8] = [], end = 0
        for part in removed.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let (start, next) = (list[part.lowerBound].range.lowerBound, list[part.upperBound - 1].range.upperBound)
            text += sql[end..<max(start, end)]
            end = max(next, end)
        }
        return String(decoding: text + sql[end...], as: UTF8.self)
    }
}
