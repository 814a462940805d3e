/// A line that is being edited, and the cursor in it.
struct LineBuffer {
    private(set) var characters: [Character] = []
    /// The number of characters before the cursor.
    private(set) var cursor = 0

    var text: String { String(characters) }

    init(_ text: String = "") {
        characters = Array(text)
        cursor = characters.count
    }

    mutating func insert(_ text: String) {
        // Joined as one text, as a combining mark belongs to the character before it.
        let before = String(characters[..<cursor]) + text
        let after = characters[cursor...]
        let start = Array(before)
        cursor = start.count
        characters = start + after
    }

    mutating func move(by count: Int) { cursor = min(max(cursor + count, 0), characters.count) }

    mutating func moveToStart() { cursor = 0 }

    mutating func moveToEnd() { cursor = characters.count }

    mutating func moveToWordStart() { cursor = wordStart }

    mutating func moveToWordEnd() {
        while cursor < characters.count, !characters[cursor].isWordPart { cursor += 1 }
        while cursor < characters.count, characters[cursor].isWordPart { cursor += 1 }
    }

    mutating func deleteBackward() {
        guard cursor > 0 else { return }
        cursor -= 1
        characters.remove(at: cursor)
    }

    /// Replaces `count` characters before the cursor with a text.
    mutating func replaceBackward(_ count: Int, with text: String) {
        let start = max(0, cursor - count)
        characters.removeSubrange(start..<cursor)
        cursor = start
        insert(text)
    }

    mutating func deleteForward() {
        if cursor < characters.count { characters.remove(at: cursor) }
    }

    mutating func deleteToEnd() { characters.removeSubrange(cursor...) }

    mutating func deleteToStart() {
        characters.removeSubrange(..<cursor)
        cursor = 0
    }

    mutating func deleteWordBackward() {
        let start = wordStart
        characters.removeSubrange(start..<cursor)
        cursor = start
    }

    private var wordStart: Int {
        var position = cursor
        while position > 0, !characters[position - 1].isWordPart { position -= 1 }
        while position > 0, characters[position - 1].isWordPart { position -= 1 }
        return position
    }
}

extension Character {
    fileprivate var isWordPart: Bool { isLetter || isNumber || self == "_" }
}
