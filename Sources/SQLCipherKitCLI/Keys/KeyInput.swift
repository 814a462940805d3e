import Foundation
import SQLCipherKit

/// A key as it came in, in memory that wipes itself.
struct KeyInput: ~Copyable {
    /// The longest key that is accepted, in bytes. More is surely the wrong file.
    static let limit = 65_536

    private let memory: SecureBytes
    private let count: Int

    /// Reads from an open descriptor to its end, and drops one newline there.
    init(descriptor: Int32) throws {
        try self.init(reading: descriptor, named: "descriptor \(descriptor)")
    }

    /// Reads a file that only its owner may read.
    init(file path: String) throws {
        // A link could lead to a file that others may replace.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw Failure("the key file \(path) is a symbolic link: name the file itself, or use --key-fd", status: .key)
            }
            throw Failure("the key file \(path) cannot be read: \(systemMessage(errno))", status: .key)
        }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            throw Failure("the key file \(path) is not a regular file", status: .key)
        }
        guard info.st_mode & 0o077 == 0 else {
            throw Failure("the key file \(path) can be read or changed by others: chmod 600 makes it private", status: .key)
        }
        guard info.st_uid == geteuid() || info.st_uid == 0 else {
            throw Failure("the key file \(path) belongs to another user", status: .key)
        }
        try self.init(reading: descriptor, named: "the key file \(path)")
    }

    /// Reads an environment variable.
    init(variable name: String) throws {
        guard let value = getenv(name) else {
            throw Failure("the environment variable \(name), which should hold the key, is not set", status: .key)
        }
        let bytes = UnsafeRawBufferPointer(start: value, count: strlen(value))
        self.init(try SecureBytes(copying: bytes), count: bytes.count)
    }

    /// Takes `count` bytes of `memory`.
    init(_ memory: consuming SecureBytes, count: Int) {
        self.memory = memory
        self.count = count
    }

    private init(reading descriptor: Int32, named name: String) throws {
        var count = 0
        var failure: Failure?
        let memory = try SecureBytes(count: Self.limit + 2) { memory throws(DatabaseError) in
            while count < memory.count {
                let got = read(descriptor, memory.baseAddress! + count, memory.count - count)
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = Failure("the key cannot be read from \(name): \(systemMessage(errno))", status: .key) }
                if got <= 0 { return }
                count += got
            }
            failure = Failure("\(name) holds more than \(Self.limit) bytes: that is no key", status: .key)
        }
        if let failure { throw failure }
        let length = memory.withUnsafeBytes { bytes in
            var end = count
            if end > 0, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
            // Editors elsewhere end a line with two characters.
            if end < count, end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            return end
        }
        self.init(memory, count: length)
    }

    /// The key that the bytes stand for.
    func key(isRaw: Bool) throws -> EncryptionKey {
        guard isRaw else { return try withBytes { try EncryptionKey.passphrase($0) } }
        return try withBytes { digits in
            guard digits.count == 64 || digits.count == 96, digits.allSatisfy({ Self.value($0) != nil }) else {
                let found = digits.isEmpty ? "the key is empty" : "the key has \(digits.count) characters or others than these"
                throw Failure("a raw key is 64 hexadecimal digits, or 96 with the salt: \(found)", status: .key)
            }
            let bytes = try SecureBytes(count: digits.count / 2) { memory throws(DatabaseError) in
                for index in memory.indices {
                    memory[index] = (Self.value(digits[2 * index]) ?? 0) << 4 | (Self.value(digits[2 * index + 1]) ?? 0)
                }
            }
            return try bytes.withUnsafeBytes { bytes in
                let key = UnsafeRawBufferPointer(rebasing: bytes.prefix(32))
                let salt = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(32))
                return salt.isEmpty ? try EncryptionKey.raw(key) : try EncryptionKey.raw(key, salt: salt)
            }
        }
    }

    /// Whether another input is the same.
    func isSame(as other: borrowing KeyInput) -> Bool {
        withBytes { a in other.withBytes { b in a.elementsEqual(b) } }
    }

    private func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try memory.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
