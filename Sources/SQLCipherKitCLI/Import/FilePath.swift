import Foundation

/// A path as the system has it: bytes, which need not be UTF-8 on Linux.
struct FilePath {
    private let bytes: [CChar]

    init(_ path: String) { bytes = path.utf8CString.map { $0 } }

    private init(bytes: [CChar]) { self.bytes = bytes }

    /// The path of something in this folder. `name` ends with a NUL.
    func appending(_ name: [CChar]) -> FilePath {
        let folder = bytes.dropLast()
        return FilePath(bytes: folder + (folder.last == CChar(bitPattern: UInt8(ascii: "/")) ? [] : [0x2f]) + name)
    }

    func withCString<R>(_ body: (UnsafePointer<CChar>) throws -> R) rethrows -> R {
        try bytes.withUnsafeBufferPointer { try body($0.baseAddress!) }
    }

    /// The path below a folder, as text; bytes that are not UTF-8 are written `\xNN`.
    func text(below folder: FilePath? = nil) -> String {
        var bytes = self.bytes.dropLast().map { UInt8(bitPattern: $0) }
        if let folder { bytes.removeFirst(folder.appending([]).bytes.count) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return bytes.reduce(into: "") { text, byte in
            if byte < 0x80 { text.unicodeScalars.append(Unicode.Scalar(byte)) } else { text += "\\x" + String(byte, radix: 16) }
        }
    }

    /// The absolute path without symbolic links; `path` itself if nothing exists there.
    static func absolute(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return FilePath(String(cString: resolved)).text()
    }
}
