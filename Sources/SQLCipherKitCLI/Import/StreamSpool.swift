import Foundation
import SQLCipherKit

/// Standard input or a pipe, which an import may have to read from its beginning once more. It is kept in a file without
/// a name, encrypted with a key that is nowhere else.
final class StreamSpool {
    private let descriptor: Int32
    private let isOwner: Bool
    private var file: Connection?
    private var count = 0
    /// The piece that is read next, and how much of it was read.
    private var next = (piece: 0, offset: 0)
    private var current: [UInt8] = []
    /// The folder of the database, where the file is.
    var folder = "."
    /// True if what is read is kept.
    var keeps = true

    /// - Parameter path: a pipe, or `-` for standard input.
    init(_ path: String) throws {
        isOwner = path != "-"
        descriptor = isOwner ? open(path, O_RDONLY | O_CLOEXEC) : Invocation.current.input
        guard descriptor >= 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
    }

    deinit { if isOwner { close(descriptor) } }

    func rewind() { next = (0, 0) }

    /// Reads what comes next, as read(2) does.
    func read(_ bytes: UnsafeMutableRawBufferPointer) throws -> Int {
        if next.piece < count {
            if next.offset == 0 { current = try piece(next.piece) }
            let part = current[next.offset...].prefix(bytes.count)
            bytes.copyBytes(from: part)
            next = part.endIndex == current.count ? (next.piece + 1, 0) : (next.piece, part.endIndex)
            return part.count
        }
        let found = try InterruptibleRead.next(descriptor, bytes)
        guard found > 0, keeps else { return found }
        let db = try file ?? makeFile()
        file = db
        try db.execute("INSERT INTO piece VALUES (\(count), \(Array(bytes[..<found])))")
        count += 1
        next = (count, 0)
        return found
    }

    private func piece(_ number: Int) throws -> [UInt8] {
        try file?.fetchOne([UInt8].self, "SELECT bytes FROM piece WHERE number = \(number)") ?? []
    }

    private func makeFile() throws -> Connection {
        let path = "\(folder)/.sqlcipherkit-\(UUID().uuidString)"
        let db = try Connection(.file(path), key: SecureBytes.random().withUnsafeBytes { try .raw($0) })
        defer { unlink(path) }
        try db.execute("PRAGMA journal_mode = OFF")
        try db.execute("PRAGMA synchronous = OFF")
        try db.execute("CREATE TABLE piece(number INTEGER PRIMARY KEY, bytes BLOB)")
        return db
    }
}

enum InterruptibleRead {
    /// Reads as read(2) does, and throws once a signal wants the command to end. While a pipe has nothing, read(2) alone would wait
    /// on after the signal's handler.
    static func next(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) throws -> Int {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            try Interruption.check()
            // The signal may come just before the wait.
            let ready = poll(&entry, 1, 500)
            if ready > 0 || ready < 0 && errno != EINTR { return read(descriptor, bytes.baseAddress, bytes.count) }
        }
    }
}
