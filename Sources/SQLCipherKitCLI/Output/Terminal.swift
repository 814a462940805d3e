import Foundation
import SQLCipherKit

/// The properties of the terminal, if there is one.
enum Terminal {
    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The number of columns; 80 if it is not known.
    static func width(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// The style of what is written now: with colors only on a terminal that supports them, and only if NO_COLOR is not set
    /// (<https://no-color.org>).
    static var style: Style {
        let environment = Invocation.current.environment
        let wantsNone = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        return Style(hasColours: Output.current.isTerminal && !wantsNone)
    }

    /// Text attributes (ECMA-48, 8.3.117), or none.
    struct Style {
        let hasColours: Bool

        func bold(_ text: String) -> String { wrap(text, "1") }
        func dim(_ text: String) -> String { wrap(text, "2") }
        func title(_ text: String) -> String { wrap(text, "1;36") }
        func number(_ text: String) -> String { wrap(text, "33") }
        func match(_ text: String) -> String { hasColours ? wrap(text, "1;33") : "[\(text)]" }

        private func wrap(_ text: String, _ code: String) -> String { hasColours ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text }
    }
}

extension Character {
    /// The number of terminal columns: 0 for a combining mark on its own, 2 for East Asian wide characters and emoji
    /// (the large blocks of Unicode's UAX #11).
    var columns: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        switch scalar.value {
        case 0x20..<0x300: return 1
        case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
            0xff00...0xff60, 0xffe0...0xffe6, 0x20000...0x3fffd:
            return 2
        default: break
        }
        if scalar.properties.isEmojiPresentation || unicodeScalars.contains("\u{fe0f}") { return 2 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return 1
        }
    }
}

extension UnsafeRawBufferPointer {
    /// True if all of it is ASCII without control characters.
    var isPrintableASCII: Bool { firstUnprintable() == count }
}

extension String {
    /// The number of terminal columns that the text takes.
    var columns: Int {
        // Most text is printable ASCII, a column for each byte.
        isPrintableASCII ? utf8.count : reduce(0) { $0 + $1.columns }
    }

    var isPrintableASCII: Bool {
        utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer($0).isPrintableASCII }
            ?? utf8.allSatisfy { (0x20..<0x7f).contains($0) }
    }

    /// The text, cut with an ellipsis to a number of columns.
    func cut(toColumns limit: Int) -> String {
        if utf8.count <= limit || columns <= limit { return self }
        var used = 1
        var text = ""
        for character in self {
            used += character.columns
            if used > limit { break }
            text.append(character)
        }
        return text + "…"
    }

    /// The text, filled with blanks to a number of columns.
    func padded(toColumns width: Int, alignedRight: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - columns))
        return alignedRight ? blanks + self : self + blanks
    }
}
