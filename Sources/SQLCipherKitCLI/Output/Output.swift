import Foundation
import SQLCipherKit

/// The output of a run of the tool: standard output, or the file or the program that ``redirect(to:)`` names. The static members
/// stand for the current run's.
final class Output {
    // Buffered: a system call for each line would cost more than a query. A run has one thread.
    private var buffer: [UInt8] = []
    /// Standard output.
    let standard: Int32
    private let isStandardTerminal: Bool
    /// Where output goes: standard output, or what it is redirected to.
    private var descriptor: Int32
    /// The program that output is redirected to.
    private var program: OutputProgram?
    /// True if what is written now is seen on a terminal. It then has colors, and nothing in it that the terminal would act on.
    private(set) var isTerminal: Bool
    private var failure: Int32 = 0
    private static let limit = 1 << 16

    init(to standard: Int32) {
        (self.standard, descriptor, isStandardTerminal) = (standard, standard, Terminal.isTerminal(standard))
        isTerminal = isStandardTerminal
    }

    /// True if the program that output is redirected to has ended, and reads no more.
    var readerHasLeft: Bool { program != nil && failure == EPIPE }

    /// Writes a line of the tool's own text, in which everything from elsewhere is ``String/onOneLine``.
    /// - Parameter body: appends the line.
    func line(_ body: (inout [UInt8]) throws -> Void) rethrows {
        try body(&buffer)
        buffer.append(0x0a)
        // On a terminal, each line is written at once.
        if isTerminal || buffer.count >= Self.limit { empty() }
    }

    /// Writes what `body` appends: data, byte for byte. A terminal gets it without the characters that it would act on.
    @inline(__always)
    func bytes(_ body: (inout [UInt8]) throws -> Void) rethrows {
        guard isTerminal else {
            try body(&buffer)
            if buffer.count >= Self.limit { empty() }
            return
        }
        var part: [UInt8] = []
        try body(&part)
        show(part)
    }

    /// The beginning of a line of data whose end has not been written yet.
    private var beginning: [UInt8] = []

    private func show(_ data: [UInt8]) {
        beginning += data
        while let end = beginning.firstIndex(of: 0x0a) {
            let text = String(decoding: beginning[..<end], as: UTF8.self)
            beginning.removeSubrange(...end)
            line { $0 += text.shown.utf8 }
        }
    }

    /// Sends later output elsewhere: to a file, to a program if the text begins with `|`, or to standard output again if it is nil.
    private func redirect(to target: String?) throws {
        try flush()
        if let program {
            program.finish()
            self.program = nil
        } else if descriptor != standard {
            close(descriptor)
        }
        (descriptor, isTerminal) = (standard, isStandardTerminal)
        guard let target else { return }
        if target.hasPrefix("|") {
            let command = String(target.dropFirst())
            guard let program = OutputProgram(command) else { throw Failure("\(command) cannot be started") }
            self.program = program
            descriptor = program.descriptor
        } else {
            let new = open(Paths.absolute(target), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard new >= 0 else { throw Failure("\(target) cannot be written: \(systemMessage(errno))") }
            descriptor = new
        }
        isTerminal = false
    }

    private func empty() {
        if !buffer.isEmpty { Invocation.current.bar?.clear() }
        var start = 0
        while start < buffer.count, failure == 0 {
            let count = buffer.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress.map { $0 + start }, $0.count - start) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 { failure = errno }
            start += max(0, count)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private func flush() throws(Failure) {
        buffer += String(decoding: beginning, as: UTF8.self).shown.utf8
        beginning = []
        empty()
        guard failure == 0 else {
            defer { failure = 0 }
            // A program that reads output may have seen enough.
            if program != nil, failure == EPIPE { return }
            throw Failure("the output cannot be written: \(systemMessage(failure))")
        }
    }
}

extension Output {
    static var current: Output { Invocation.current.output }

    /// Writes a line of the tool's own text, in which everything from elsewhere is ``String/onOneLine``.
    static func line(_ text: String = "") { current.line { $0 += text.utf8 } }

    /// Writes text that comes from elsewhere as it is, and a line feed. A terminal gets it without the characters that it would act
    /// on.
    static func data(_ text: String) {
        current.bytes { bytes in
            bytes += text.utf8
            bytes.append(0x0a)
        }
    }

    /// Sends later output elsewhere: to a file, to a program if the text begins with `|`, or to standard output again if it is nil.
    static func redirect(to path: String?) throws { try current.redirect(to: path) }

    /// Writes out the buffer. Without this, a full disk would go unnoticed when output goes to a file.
    static func flush() throws(Failure) { try current.flush() }

    /// Writes a line to standard error.
    static func error(_ text: String) {
        Invocation.current.bar?.clear()
        write(text + "\n", to: Invocation.current.errors)
    }

    /// Writes text to a descriptor at once, unbuffered. It is for messages: text that cannot be written is lost.
    static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}

/// The system's `write`; inside `Output` that name means another function.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(descriptor, bytes, count) }

/// The system's text for an error number.
func systemMessage(_ number: Int32) -> String { String(cString: strerror(number)) }

extension String {
    /// The text on one line, without characters that a terminal would act on: file names and database contents are untrusted.
    var onOneLine: String {
        if isPrintableASCII { return self }
        return unicodeScalars.contains(where: \.actsOnTerminal) ? visible { $0.actsOnTerminal } : self
    }

    /// The text as a terminal may have it, with its own lines and tabs.
    var shown: String {
        func isHidden(_ scalar: Unicode.Scalar) -> Bool { scalar.actsOnTerminal && scalar != "\n" && scalar != "\t" }
        return unicodeScalars.contains(where: isHidden) ? visible(isHidden) : self
    }

    private func visible(_ isHidden: (Unicode.Scalar) -> Bool) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case _ where !isHidden(scalar): text.unicodeScalars.append(scalar)
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default: text += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
        }
    }
}
