/// SQL text on its way through the compiler, statement by statement, without a copy for each.
struct SQLText {
    let all: String
    // With a NUL behind it, which the engine asks for if it is not to copy the text.
    private let bytes: ContiguousArray<CChar>
    private var position = 0

    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a NUL inside of the text, which would end it silently, and for
    ///   more than 2 GB.
    init(_ text: String) throws(DatabaseError) {
        all = text
        bytes = text.utf8CString
        guard bytes.count < Int(Int32.max), !text.utf8.contains(0) else {
            throw .invalidArgument("SQL text contains a NUL character or is longer than 2 GB")
        }
    }

    var isAtEnd: Bool { position >= bytes.count - 1 }

    /// The text from here on, in a length fit for an error.
    var excerpt: String {
        guard position > 0 || bytes.count > 4000 else { return all }
        return String(decoding: bytes[position..<min(bytes.count - 1, position + 4000)].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Lends the rest, with its count including the NUL, to a call that tells where it has stopped; goes on from there if the
    /// call succeeds.
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
