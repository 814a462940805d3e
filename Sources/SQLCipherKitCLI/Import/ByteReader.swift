import Foundation

/// The bytes of a file, or of standard input, one after the other, without ever holding more than a piece of it.
final class ByteReader {
    private let descriptor: Int32
    private let name: String
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)
    private var position = 0
    private var end = 0
    private var bufferStart = 0
    /// The number of bytes that were read, and so the place of the next one.
    var offset: Int { bufferStart + position }

    /// - Parameter path: the file; `-` is standard input.
    init(_ path: String) throws {
        name = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// Goes on at another place of a file.
    func seek(to offset: Int) throws {
        guard lseek(descriptor, off_t(offset), SEEK_SET) == off_t(offset) else {
            throw Failure("\(name) cannot be read from its middle: \(systemMessage(errno))")
        }
        (position, end, bufferStart) = (0, 0, offset)
    }

    @inline(__always)
    func next() throws -> UInt8? {
        if position == end, try !fill() { return nil }
        defer { position += 1 }
        return buffer[position]
    }

    /// The next byte, which is read again.
    func peek() throws -> UInt8? {
        if position == end, try !fill() { return nil }
        return buffer[position]
    }

    /// The bytes up to the next line feed, without it; nil at the end.
    func line() throws -> [UInt8]? {
        var line: [UInt8] = []
        var isEmpty = true
        while try position < end || fill() {
            isEmpty = false
            let feed = buffer[position..<end].firstIndex(of: 0x0a)
            line += buffer[position..<(feed ?? end)]
            position = feed.map { $0 + 1 } ?? end
            if feed != nil { break }
        }
        return isEmpty ? nil : line
    }

    private func fill() throws -> Bool {
        try Interruption.check()
        bufferStart += end
        (position, end) = (0, 0)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 { throw Failure("\(name) cannot be read: \(systemMessage(errno))") }
            end = count
            return count > 0
        }
    }
}
