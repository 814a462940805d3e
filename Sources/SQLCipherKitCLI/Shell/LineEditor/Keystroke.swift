import Foundation

/// A key of the terminal.
enum Keystroke: Equatable {
    case text(String)
    /// A pasted text, on a terminal that marks it.
    case paste([UInt8])
    case enter, tab, backspace, delete
    case left, right, up, down, home, end, wordLeft, wordRight
    case deleteToEnd, deleteToStart, deleteWord, clearScreen
    case search, cancel
    case interrupt, endOfInput
    /// The terminal is gone.
    case hangUp
    case other

    /// Reads the next key (ECMA-48 for what begins with an escape).
    static func read(_ descriptor: Int32) -> Keystroke {
        guard let byte = byte(descriptor) else { return .hangUp }
        switch byte {
        case 0x01: return .home
        case 0x02: return .left
        case 0x03: return .interrupt
        case 0x04: return .endOfInput
        case 0x05: return .end
        case 0x06: return .right
        case 0x07: return .cancel
        case 0x08, 0x7f: return .backspace
        case 0x09: return .tab
        case 0x0a, 0x0d: return .enter
        case 0x0b: return .deleteToEnd
        case 0x0c: return .clearScreen
        case 0x0e: return .down
        case 0x10: return .up
        case 0x12: return .search
        case 0x15: return .deleteToStart
        case 0x17: return .deleteWord
        case 0x1b: return escape(descriptor)
        case 0..<0x20: return .other
        default: return character(byte, descriptor)
        }
    }

    private static func character(_ first: UInt8, _ descriptor: Int32) -> Keystroke {
        var bytes = [first]
        let more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0
        for _ in 0..<more {
            guard let next = byte(descriptor) else { return .hangUp }
            bytes.append(next)
        }
        return String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .other
    }

    private static func escape(_ descriptor: Int32) -> Keystroke {
        // The escape key alone sends nothing more.
        guard isWaiting(descriptor, milliseconds: 50) else { return .cancel }
        guard let kind = byte(descriptor) else { return .hangUp }
        switch kind {
        case UInt8(ascii: "b"): return .wordLeft
        case UInt8(ascii: "f"): return .wordRight
        case 0x7f: return .deleteWord
        case UInt8(ascii: "["), UInt8(ascii: "O"): break
        default: return .other
        }
        var parameters = ""
        while let next = byte(descriptor) {
            guard (0x40...0x7e).contains(next) else {
                parameters.append(Character(Unicode.Scalar(next)))
                continue
            }
            let hasModifier = parameters.contains(";")
            switch (next, parameters) {
            case (UInt8(ascii: "A"), _): return .up
            case (UInt8(ascii: "B"), _): return .down
            case (UInt8(ascii: "C"), _): return hasModifier ? .wordRight : .right
            case (UInt8(ascii: "D"), _): return hasModifier ? .wordLeft : .left
            case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): return .home
            case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): return .end
            case (UInt8(ascii: "~"), "3"): return .delete
            case (UInt8(ascii: "~"), "200"): return paste(descriptor)
            default: return .other
            }
        }
        return .hangUp
    }

    /// Reads up to the mark of the end.
    private static func paste(_ descriptor: Int32) -> Keystroke {
        let end = Array("\u{1b}[201~".utf8)
        var bytes: [UInt8] = []
        while let next = byte(descriptor) {
            bytes.append(next)
            if next == end.last, bytes.suffix(end.count) == end[...] { return .paste(bytes.dropLast(end.count)) }
        }
        return .hangUp
    }

    /// Returns whether there is more to read, now or within the given time.
    static func isWaiting(_ descriptor: Int32, milliseconds: Int32 = 0) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, milliseconds) > 0
    }

    private static func byte(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = Foundation.read(descriptor, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }
}
