import Foundation

/// A file's content, if it is text.
enum TextFile {
    case text(String, modified: Date)
    /// A NUL byte, or bytes that are not UTF-8.
    case binary
    case tooLarge
    case unreadable(String)

    /// Reads a regular file of up to `limit` bytes.
    static func read(_ path: FilePath, limit: Int) -> TextFile {
        // Between the scan and now the file may have become a link or a pipe: neither is followed or waited for.
        let descriptor = path.withCString { open($0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else { return .unreadable(systemMessage(errno)) }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return .unreadable(systemMessage(errno)) }
        guard info.st_mode & S_IFMT == S_IFREG else { return .unreadable("it is no longer a regular file") }
        guard info.st_size <= limit else { return .tooLarge }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(info.st_size) + 1)
        // The size in `info` is not relied on: a file may grow, and the kernel's own files have no size.
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = chunk.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 { return .unreadable(systemMessage(errno)) }
            if count == 0 { break }
            // Most binary files have a NUL byte in their first part.
            if strnlen(chunk, count) < count { return .binary }
            bytes += chunk[..<count]
            if bytes.count > limit { return .tooLarge }
        }
        let content = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes[3...] : bytes[...]
        guard let text = String(validating: content, as: UTF8.self) else { return .binary }
        return .text(text, modified: info.modified)
    }
}

extension stat {
    /// When the file's content was last changed.
    var modified: Date {
        #if canImport(Darwin)
            let time = st_mtimespec
        #else
            let time = st_mtim
        #endif
        return Date(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}
