import Foundation
import SQLCipherKit

/// A text file as it is stored.
struct Document {
    let path: String
    let title: String
    let body: String
    /// In bytes of UTF-8.
    let size: Int
    let modified: Date
    /// The file's name and extension, the folders between the indexed one and the file, and its numbers of lines and words.
    let meta: JSONValue

    init(path: String, body: String, modified: Date) {
        let components = path.split(separator: "/").map(String.init)
        let name = components.last ?? path
        self.path = path
        self.body = body
        self.modified = modified
        size = body.utf8.count
        title = Self.title(of: body) ?? name
        let (lines, words) = Self.count(body)
        meta = [
            "name": .string(name), "extension": .string(Self.extension(of: name)),
            "folders": .array(components.dropLast().map { .string($0) }), "lines": .integer(Int64(lines)),
            "words": .integer(Int64(words)),
        ]
    }

    /// The text after the last dot; a version such as `2.0` has no extension.
    private static func `extension`(of name: String) -> String {
        let found = (name as NSString).pathExtension.lowercased()
        return found.first?.isLetter == true ? found : ""
    }

    /// The first line with at least three letters, without the signs of a comment or a heading around it.
    private static func title(of body: String) -> String? {
        // Only the beginning: a file may be a single line of megabytes.
        var rest = body.prefix(4000)
        while !rest.isEmpty {
            let line = rest.prefix { !$0.isNewline }
            rest = rest[line.endIndex...].dropFirst()
            if line.hasPrefix("#!") { continue }
            let words = line.drop { !$0.isLetter && !$0.isNumber }.prefix(120)
            if words.count(where: \.isLetter) >= 3 {
                return String(words).trimmingCharacters(in: CharacterSet(charactersIn: " \t#*/-=<>"))
            }
        }
        return nil
    }

    private static func count(_ body: String) -> (lines: Int, words: Int) {
        var lines = 0
        var words = 0
        var isInWord = false
        var last: UInt8 = 0x0a
        for byte in body.utf8 {
            if byte == 0x0a { lines += 1 }
            let isBlank = byte == 0x20 || (0x09...0x0d).contains(byte)
            if !isBlank && !isInWord { words += 1 }
            isInWord = !isBlank
            last = byte
        }
        return (last == 0x0a ? lines : lines + 1, words)
    }
}
