import Foundation
import SQLCipherKit

/// The result of reading a line of input.
enum LineInput: Equatable {
    /// A line without its line feed; from a terminal, it may have several.
    case line([UInt8])
    /// Control-C: an unfinished statement is discarded.
    case interrupted
    case end
}

/// Where the shell's lines come from.
protocol LineSource: AnyObject {
    func next(_ prompt: String) throws -> LineInput
}

/// The lines of a file, of a program's output, or of standard input that is not a terminal: bytes up to a line feed, of which none
/// is dropped. A carriage return before the line feed may be a part of a text.
final class PlainLines: LineSource {
    private let descriptor: Int32
    private let name: String
    private let isOwn: Bool
    private var program: UnsafeMutablePointer<FILE>?
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtStart = true

    /// Standard input.
    init() { (descriptor, name, isOwn) = (Invocation.current.input, "standard input", false) }

    /// - Parameter path: a file, or a program if it begins with `|`.
    init(_ path: String) throws {
        name = path
        if path.hasPrefix("|") {
            guard let file = popen(String(path.dropFirst()), "r") else { throw Failure("\(path.dropFirst()) cannot be started") }
            (program, descriptor, isOwn) = (file, fileno(file), false)
        } else {
            let opened = open(Paths.absolute(path), O_RDONLY | O_CLOEXEC)
            guard opened >= 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
            (descriptor, isOwn) = (opened, true)
        }
    }

    deinit {
        if isOwn { close(descriptor) }
        if let program { pclose(program) }
    }

    func next(_ prompt: String) throws -> LineInput { try line().map { .line(Array($0)) } ?? .end }

    /// The next line; nil at the end. The last line may end with the input.
    func line() throws -> ArraySlice<UInt8>? {
        var searched = position
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0a) {
                defer { position = end + 1 }
                return withoutMark(buffer[position..<end])
            }
            if position > 0 {
                buffer.removeSubrange(..<position)
                position = 0
            }
            searched = buffer.count
            guard try read() else {
                guard !buffer.isEmpty else { return nil }
                defer { buffer = [] }
                return withoutMark(buffer[...])
            }
        }
    }

    /// A byte order mark at the beginning is not a part of the first line.
    private func withoutMark(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        defer { isAtStart = false }
        return isAtStart && line.starts(with: [0xef, 0xbb, 0xbf]) ? line.dropFirst(3) : line
    }

    /// Reads what comes next; false at the end.
    private func read() throws -> Bool {
        let piece = [UInt8](unsafeUninitializedCapacity: 1 << 16) { memory, count in
            var got = -1
            repeat { got = Foundation.read(descriptor, memory.baseAddress, memory.count) } while got < 0 && errno == EINTR
            count = max(0, got)
            if got < 0 { failure = errno }
        }
        if failure != 0 { throw Failure("\(name) cannot be read: \(systemMessage(failure))") }
        buffer += piece
        return !piece.isEmpty
    }

    private var failure: Int32 = 0
}
