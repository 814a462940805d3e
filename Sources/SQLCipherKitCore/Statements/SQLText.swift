/// SQL text that is compiled statement by statement, without copying each one.
struct SQLText {
    let all: String
    // NUL-terminated, so that the engine does not copy the text.
    private let bytes: ContiguousArray<CChar>
    private var position = 0

    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a NUL character in the text, which would silently truncate it, and
    ///   for more than 2 GB.
    init(_ text: String) throws {
        all = text
        bytes = text.utf8CString
        guard bytes.count < Int(Int32.max), bytes.firstIndex(of: 0) == bytes.count - 1 else {
            throw DatabaseError.invalidArgument("SQL text contains a NUL character or is longer than 2 GB")
        }
    }

    /// The kind of text after a statement.
    enum Rest { case nothing, comments, more }

    /// The kind of text that follows, found without compiling it, because some statements take effect when they are compiled.
    var rest: Rest {
        bytes.withUnsafeBytes { bytes in
            var rest = Rest.nothing, index = position
            while index < bytes.count - 1 {
                let token = SQLTokens.read(bytes, at: index)
                switch token.kind {
                case .blank, .semicolon: break
                // A comment at the end of a text needs no end.
                case .unreadable where bytes[index] == UInt8(ascii: "/"), .comment: rest = .comments
                default: return .more
                }
                index += token.length
            }
            return rest
        }
    }

    var isAtEnd: Bool { position >= bytes.count - 1 }

    /// The text from the position on, limited to a length suitable for an error.
    var excerpt: String {
        guard position > 0 || bytes.count > 4000 else { return all }
        return String(
            decoding: bytes[position..<min(bytes.count - 1, position + 4000)].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Lends the rest of the text, with its length including the NUL, to a call that reports where it stopped. If the call
    /// succeeds, advances to there.
    mutating func advance(
        _ body: (UnsafePointer<CChar>, Int32, UnsafeMutablePointer<UnsafePointer<CChar>?>) -> Int32
    ) -> Int32 {
        let start = position
        var used = 0
        let rc = bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return Int32(0) }
            var tail: UnsafePointer<CChar>?
            let rc = body(base + start, Int32(buffer.count - start), &tail)
            used = tail.map { $0 - (base + start) } ?? buffer.count - 1 - start
            return rc
        }
        if rc == 0 { position += used }
        return rc
    }
}
