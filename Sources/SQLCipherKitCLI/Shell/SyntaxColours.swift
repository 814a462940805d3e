import SQLCipherKit

/// The colours of SQL as it is typed.
enum SyntaxColours {
    private static let keywords = Set(SQLCipherEngine.keywords)

    /// The attribute (ECMA-48, 8.3.117) of each character; nil for the terminal's default.
    static func attributes(_ characters: [Character]) -> [String?] {
        var result = [String?](repeating: nil, count: characters.count)
        var index = 0
        func colour(_ end: Int, _ attribute: String?) {
            for position in index..<end { result[position] = attribute }
            index = end
        }
        func end(from start: Int, where isEnd: (Int) -> Bool) -> Int {
            var position = start
            while position < characters.count, !isEnd(position) { position += 1 }
            return position
        }
        while index < characters.count {
            let character = characters[index]
            let next = index + 1 < characters.count ? characters[index + 1] : " "
            switch character {
            case "'", "\"", "`":
                colour(
                    min(characters.count, end(from: index + 1) { characters[$0] == character } + 1), character == "'" ? "32" : nil)
            case "-" where next == "-": colour(end(from: index) { characters[$0] == "\n" }, "2")
            case "/" where next == "*":
                let close = end(from: index + 2) { characters[$0] == "*" && $0 + 1 < characters.count && characters[$0 + 1] == "/" }
                colour(min(characters.count, close + 2), "2")
            case _ where character.isNumber: colour(end(from: index) { !characters[$0].isSQLName && characters[$0] != "." }, "33")
            case _ where character.isSQLName:
                let stop = end(from: index) { !characters[$0].isSQLName }
                colour(stop, keywords.contains(String(characters[index..<stop]).uppercased()) ? "1;34" : nil)
            default: index += 1
            }
        }
        return result
    }
}
