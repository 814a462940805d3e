import Foundation

/// Reads the bytes of a file or of standard input in order, and holds only a piece in memory. It converts UTF-16 to UTF-8, unpacks
/// compressed files, and leaves out a byte order mark.
final class ByteReader {
    private static let capacity = 1 << 18

    private let name: String
    private var descriptor: Int32
    private var gzip: GzipProcess?
    private var raw: [UInt8]
    private var buffer: [UInt8] = []
    private var position = 0
    /// The offset in the input at which the buffer begins, in bytes.
    private var bufferStart = 0
    /// The position in the buffer up to which bytes were counted, and the bytes of UTF-16 that they stand for.
    private var counted = (position: 0, bytes: 0)
    private var wide: UTF16Reader?
    /// The encoding of the file; nil as long as everything read is ASCII.
    private(set) var encoding: TextEncoding?
    /// Whether the encoding was detected, not given.
    private let isEncodingFound: Bool
    private(set) var hasMark = false
    private(set) var isAtEnd = false

    /// The offset of the next byte in the input; for a compressed file, in its unpacked content.
    var offset: Int {
        guard wide != nil else { return bufferStart + position }
        while counted.position < position {
            let byte = buffer[counted.position]
            counted.bytes += byte >= 0xf0 ? 4 : byte < 0x80 || byte >= 0xc0 ? 2 : 0
            counted.position += 1
        }
        return bufferStart + counted.bytes
    }

    /// - Parameters:
    ///   - path: the file; `-` is standard input.
    ///   - encoding: the encoding of the file, if it is known.
    init(_ path: String, encoding: TextEncoding? = nil) throws {
        name = path
        raw = [UInt8](repeating: 0, count: Self.capacity)
        (self.encoding, isEncodingFound) = (encoding, encoding == nil)
        if path != "-", GzipProcess.isNeeded(for: path) { gzip = try GzipProcess(path) }
        descriptor = path == "-" ? Invocation.current.input : gzip?.descriptor ?? open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
        try begin()
    }

    /// Reads bytes of UTF-8 that are already in memory.
    init(_ bytes: [UInt8]) {
        (name, descriptor, raw, buffer, isAtEnd, isEncodingFound) = ("", -1, [], bytes, true, false)
    }

    deinit { if descriptor >= 0, name != "-", gzip == nil { close(descriptor) } }

    var isCompressed: Bool { gzip != nil }

    /// The bytes that come next, in UTF-8, without consuming them: at first, the first piece of the file.
    var sample: ArraySlice<UInt8> { buffer[position...] }

    /// Continues at another offset of the file.
    func seek(to offset: Int) throws {
        if gzip != nil {
            let again = try GzipProcess(name)
            (gzip, descriptor) = (again, again.descriptor)
            var left = offset
            while left > 0 {
                let count = try pull(upTo: min(left, Self.capacity))
                guard count > 0 else { throw Failure("\(name) has become shorter") }
                left -= count
            }
        } else {
            guard lseek(descriptor, off_t(offset), SEEK_SET) == off_t(offset) else {
                throw Failure("\(name) cannot be read from its middle: \(systemMessage(errno))")
            }
        }
        (buffer, position, bufferStart, counted, isAtEnd) = ([], 0, offset, (0, 0), false)
        if let wide { self.wide = UTF16Reader(isBigEndian: wide.isBigEndian) }
    }

    @inline(__always)
    func next() throws -> UInt8? {
        if position == buffer.count, try !fill() { return nil }
        defer { position += 1 }
        return buffer[position]
    }

    /// The next byte, without consuming it.
    func peek() throws -> UInt8? {
        if position == buffer.count, try !fill() { return nil }
        return buffer[position]
    }

    /// The bytes up to the next line feed, without the line feed; nil at the end.
    func line() throws -> [UInt8]? {
        var line: [UInt8] = []
        var isEmpty = true
        while try position < buffer.count || fill() {
            isEmpty = false
            let feed = buffer[position...].firstIndex(of: 0x0a)
            line += buffer[position..<(feed ?? buffer.count)]
            position = feed.map { $0 + 1 } ?? buffer.count
            if feed != nil { break }
        }
        return isEmpty ? nil : line
    }

    /// The text of bytes that were read. Bytes that are neither ASCII nor UTF-8 are Windows-1252, unless UTF-8 was seen before.
    func text(_ bytes: [UInt8]) throws -> String {
        switch encoding {
        case .windows1252, .latin1:
            let text = bytes.allSatisfy { $0 < 0x80 } ? nil : encoding?.text(ofSingleBytes: bytes)
            if let text {
                guard !isEncodingFound || String(validating: bytes, as: UTF8.self) == nil else {
                    throw Failure("this is UTF-8, but text before it is not: give the encoding of the file with --encoding")
                }
                return text
            }
            return String(decoding: bytes, as: UTF8.self)
        case .utf8, .utf16LittleEndian, .utf16BigEndian:
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Failure("this is not UTF-8: give the encoding of the file with --encoding")
            }
            return text
        case nil:
            guard bytes.contains(where: { $0 >= 0x80 }) else { return String(decoding: bytes, as: UTF8.self) }
            encoding = String(validating: bytes, as: UTF8.self) == nil ? .windows1252 : .utf8
            return try text(bytes)
        }
    }

    // MARK: Reading

    /// Reads the first piece, up to the buffer's size, and detects its encoding.
    private func begin() throws {
        var start: [UInt8] = []
        while start.count < Self.capacity {
            let count = try pull(upTo: Self.capacity - start.count)
            if count == 0 { break }
            start += raw[..<count]
        }
        let mark = TextEncoding.marked(start[...])
        if let mark, encoding == nil || encoding == mark.0 {
            encoding = mark.0
            hasMark = true
            bufferStart = mark.length
        } else if encoding == nil {
            encoding = TextEncoding.found(in: start[...])
        }
        if let encoding, encoding.isWide { wide = UTF16Reader(isBigEndian: encoding == .utf16BigEndian) }
        buffer = try decoded(start[bufferStart...])
        if isAtEnd { try checkEnd() }
    }

    private func fill() throws -> Bool {
        if isAtEnd { return false }
        // The offset of the next piece: the position is at the buffer's end, and UTF-16 is counted up to there.
        bufferStart = offset
        (buffer, position, counted) = ([], 0, (0, 0))
        while buffer.isEmpty {
            let count = try pull(upTo: Self.capacity)
            if count == 0 {
                try checkEnd()
                return false
            }
            buffer = try decoded(raw[..<count])
        }
        return true
    }

    private func checkEnd() throws {
        if wide?.isInCharacter == true { throw Failure("\(name) is not UTF-16: its last character is cut off") }
    }

    private func decoded(_ bytes: ArraySlice<UInt8>) throws -> [UInt8] { try wide?.utf8(bytes) ?? Array(bytes) }

    private func pull(upTo limit: Int) throws -> Int {
        try Interruption.check()
        while true {
            let count = raw.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, limit) }
            if count < 0 && errno == EINTR {
                try Interruption.check()
                continue
            }
            if count < 0 { throw Failure("\(name) cannot be read: \(systemMessage(errno))") }
            if count == 0 {
                isAtEnd = true
                try Interruption.check()
                try gzip?.finish(name)
            }
            return count
        }
    }
}
