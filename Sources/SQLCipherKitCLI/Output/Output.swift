import Foundation

/// Standard output and standard error.
enum Output {
    /// Writes a line to standard output.
    static func line(_ text: String = "") { print(text) }

    /// Writes a line to standard error.
    static func error(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

    /// Writes text to a descriptor at once, past any buffer. What cannot be written is lost: these are messages.
    static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Writes out what is buffered; without this a full disk behind `> file` would pass unnoticed.
    static func flush() throws(Failure) {
        if fflush(nil) != 0 { throw Failure("the output cannot be written: \(systemMessage(errno))") }
    }
}

/// The system's `write`, which inside of `Output` is another one.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(descriptor, bytes, count) }

/// The system's text for an error number.
func systemMessage(_ number: Int32) -> String { String(cString: strerror(number)) }

extension String {
    /// The text on one line, and without characters that would command a terminal: file names and database contents come
    /// from others.
    var onOneLine: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.isControl: text += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Unicode.Scalar {
    /// Control characters, and those that turn the direction of text around.
    fileprivate var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
