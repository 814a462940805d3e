import Foundation

/// Unpacks a compressed file with the system's `gzip`, as the tool has no decompression of its own.
final class GzipProcess {
    private let process = Process()
    private let output = Pipe()
    var descriptor: Int32 { output.fileHandleForReading.fileDescriptor }

    init(_ path: String) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", "--", path]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardOutput = output
        do { try process.run() } catch { throw Failure("\(path) is compressed, and gzip cannot be started") }
        try? output.fileHandleForWriting.close()
    }

    /// Checks at the end of the output that it is complete.
    func finish(_ path: String) throws {
        process.waitUntilExit()
        guard process.terminationStatus != 127 else { throw Failure("\(path) is compressed, and gzip is not installed") }
        guard process.terminationStatus == 0 else { throw Failure("\(path) cannot be unpacked: gzip reports that it is damaged") }
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Returns whether a file begins with the bytes that identify gzip (RFC 1952, 2.3.1).
    static func isNeeded(for path: String) -> Bool {
        var info = stat()
        // Only a regular file is opened: a program that writes into a pipe would take this for its reader.
        guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return false }
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var start: [UInt8] = [0, 0]
        return read(descriptor, &start, 2) == 2 && start == [0x1f, 0x8b]
    }
}
