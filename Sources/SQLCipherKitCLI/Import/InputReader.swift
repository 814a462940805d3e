import Foundation

/// Reads the bytes of a file or of standard input in order, and holds only a piece in memory. Compressed files are unpacked, and a
/// byte order mark is left out.
final class InputReader {
    private static let capacity = 1 << 18

    private let name: String
    private var descriptor: Int32
    private var gzip: GzipProcess?
    private let stream: StreamSpool?
    // Raw memory: the runtime checks each access to a class's array for exclusivity.
    private let buffer: UnsafeMutableRawBufferPointer
    /// The number of bytes in the buffer.
    private var count = 0
    private var position = 0
    /// The offset in the input at which the buffer begins, in bytes.
    private var bufferStart = 0
    private(set) var isAtEnd = false

    /// The offset of the next byte in the input; for a compressed file, in its unpacked content.
    var offset: Int { bufferStart + position }

    /// - Parameters:
    ///   - path: the file.
    ///   - stream: what is read in place of the file, from its beginning.
    init(_ path: String, stream: StreamSpool? = nil) throws {
        name = path
        self.stream = stream
        stream?.rewind()
        if stream == nil, GzipProcess.isNeeded(for: path) { gzip = try GzipProcess(path) }
        descriptor = stream == nil ? gzip?.descriptor ?? open(path, O_RDONLY | O_CLOEXEC) : -1
        guard stream != nil || descriptor >= 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
        buffer = .allocate(byteCount: Self.capacity, alignment: 1)
        try begin()
    }

    /// Reads bytes of UTF-8 that are already in memory.
    init(_ bytes: [UInt8]) {
        (name, descriptor, stream, count, isAtEnd) = ("", -1, nil, bytes.count, true)
        buffer = .allocate(byteCount: count, alignment: 1)
        buffer.copyBytes(from: bytes)
    }

    deinit {
        buffer.deallocate()
        if descriptor >= 0, gzip == nil { close(descriptor) }
    }

    var isCompressed: Bool { gzip != nil }

    private var filled: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }

    /// The bytes that come next, in UTF-8, without consuming them: at first, the first piece of the file.
    var sample: ArraySlice<UInt8> { [UInt8](filled[position...])[...] }

    /// Continues at another offset of the file.
    func seek(to offset: Int) throws {
        if gzip != nil {
            let again = try GzipProcess(name)
            (gzip, descriptor) = (again, again.descriptor)
            var left = offset
            while left > 0 {
                let read = try pull(0..<min(left, Self.capacity))
                guard read > 0 else { throw Failure("\(name) has become shorter") }
                left -= read
            }
        } else {
            guard lseek(descriptor, off_t(offset), SEEK_SET) == off_t(offset) else {
                throw Failure("\(name) cannot be read from its middle: \(systemMessage(errno))")
            }
        }
        (count, position, bufferStart, isAtEnd) = (0, 0, offset, false)
    }

    @inline(__always)
    func next() throws -> UInt8? {
        if position == count, try !fill() { return nil }
        defer { position += 1 }
        return buffer[position]
    }

    /// The next byte, without consuming it.
    func peek() throws -> UInt8? {
        if position == count, try !fill() { return nil }
        return buffer[position]
    }

    /// Appends the bytes up to one of `stops`, which is not consumed, or up to the end.
    func append(to bytes: inout [UInt8], until stops: ByteSet) throws {
        while try position < count || fill() {
            let start = position
            position = stops.first(in: filled, from: start)
            bytes += UnsafeRawBufferPointer(rebasing: filled[start..<position])
            if position < count { return }
            try Self.requireFitting(bytes.count)
        }
    }

    /// The most bytes that SQLite stores in a row (<https://sqlite.org/limits.html#max_length>).
    private static let rowLimit = 1_000_000_000

    /// Throws if a row cannot be stored: what goes on to the end of a large file is probably a quote that is not closed.
    static func requireFitting(_ count: Int) throws {
        guard count > rowLimit else { return }
        throw Failure("it has more than 1,000,000,000 bytes, which SQLite cannot store: perhaps a quote is not closed")
    }

    /// The bytes up to the next line feed, without the line feed; nil at the end.
    /// - Parameter check: throws for too many bytes.
    func line(_ check: (_ count: Int) throws -> Void = InputReader.requireFitting) throws -> [UInt8]? {
        var line: [UInt8] = []
        var isEmpty = true
        while try position < count || fill() {
            isEmpty = false
            let feed = filled[position...].firstIndex(of: 0x0a)
            line += filled[position..<(feed ?? count)]
            position = feed.map { $0 + 1 } ?? count
            if feed != nil { break }
            try check(line.count)
        }
        return isEmpty ? nil : line
    }

    /// The text of bytes that were read.
    static func text(_ bytes: some RandomAccessCollection<UInt8>) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure("this is not UTF-8: convert the file with the program iconv, such as iconv -f WINDOWS-1252 -t UTF-8")
        }
        return text
    }

    // MARK: Reading

    /// Reads the first piece, up to the buffer's size.
    private func begin() throws {
        while count < Self.capacity, !isAtEnd { count += try pull(count..<Self.capacity) }
        if filled.starts(with: [0xff, 0xfe]) || filled.starts(with: [0xfe, 0xff]) {
            throw Failure("\(name) is UTF-16: convert it with the program iconv, as in iconv -f UTF-16 -t UTF-8")
        }
        if filled.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
    }

    private func fill() throws -> Bool {
        if isAtEnd { return false }
        (bufferStart, position, count) = (offset, 0, 0)
        count = try pull(0..<Self.capacity)
        return count > 0
    }

    /// Reads bytes into a part of the buffer, and returns their number, which is 0 at the end.
    private func pull(_ place: Range<Int>) throws -> Int {
        try Interruption.check()
        let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[place])
        while true {
            let count = try stream?.read(bytes) ?? InterruptibleRead.next(descriptor, bytes)
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

/// A set of up to six bytes.
struct ByteSet {
    /// Eight times each byte.
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    init(_ bytes: [UInt8]) {
        func word(_ index: Int) -> UInt64 { UInt64(index < bytes.count ? bytes[index] : bytes[0]) &* Self.ones }
        words = (word(0), word(1), word(2), word(3), word(4), word(5))
    }

    /// The place of the first of these bytes, or the end.
    @inline(__always)
    func first(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        /// The highest bit of the first byte that is the pattern's, and perhaps of later ones.
        func found(_ word: UInt64, _ pattern: UInt64) -> UInt64 { ((word ^ pattern) &- Self.ones) & ~(word ^ pattern) }
        func found(_ word: UInt64) -> UInt64 {
            let all = found(word, words.0) | found(word, words.1) | found(word, words.2) | found(word, words.3)
                | found(word, words.4) | found(word, words.5)
            return all & (Self.ones &* 0x80)
        }
        var place = start
        while place + 8 <= bytes.count {
            let bits = found(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
            if bits != 0 { return place + bits.trailingZeroBitCount / 8 }
            place += 8
        }
        while place < bytes.count, found(UInt64(bytes[place])) & 0x80 == 0 { place += 1 }
        return place
    }
}
