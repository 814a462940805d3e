import Foundation

/// The standard output of a run of the tool. The static members stand for the current run's.
final class Output {
    // Buffers standard output: a system call for each line would cost more than a query. A run has one thread.
    private var buffer: [UInt8] = []
    /// Standard output.
    let standard: Int32
    let isTerminal: Bool
    /// Where output goes: standard output, or the file of ``redirect(to:)``, or the pager.
    private var descriptor: Int32
    private var failure: Int32 = 0
    private static let limit = 1 << 16
    /// On a terminal, each line is written at once.
    private var isLive: Bool { isTerminal && running == nil }

    /// The command that shows results longer than the terminal; nil writes them directly.
    private var pager: String?
    private var running: Pager?
    /// How many more lines to hold back before a pager is started; nil if none is wanted.
    private var linesHeld: Int?

    init(to standard: Int32) {
        (self.standard, descriptor, isTerminal) = (standard, standard, Terminal.isTerminal(standard))
    }

    /// Runs `body`, and shows what it writes through the pager if it has more lines than the terminal.
    private func paged<R>(_ body: () throws -> R) rethrows -> R {
        guard pager != nil, isTerminal, descriptor == standard, linesHeld == nil, running == nil else { return try body() }
        empty()
        linesHeld = Terminal.height(standard) - 1
        defer {
            linesHeld = nil
            empty()
            if let pager = running {
                pager.finish()
                if failure == EPIPE { failure = 0 }
                running = nil
                descriptor = standard
            }
        }
        return try body()
    }

    /// Counts a line that is held back.
    private func hold(_ lines: Int) {
        guard lines < 0 || buffer.count >= Self.limit, let pager else {
            linesHeld = lines
            return
        }
        linesHeld = nil
        running = Pager(pager)
        if let running { descriptor = running.descriptor }
        empty()
    }

    private func line(_ text: String) {
        buffer += text.utf8
        buffer.append(0x0a)
        if let linesHeld { hold(linesHeld - 1) } else if isLive || buffer.count >= Self.limit { empty() }
    }

    /// Writes what `body` appends.
    @inline(__always)
    func bytes(_ body: (inout [UInt8]) throws -> Void) rethrows {
        try body(&buffer)
        if let linesHeld {
            hold(linesHeld - (buffer.last == 0x0a ? 1 : 0))
        } else if buffer.count >= Self.limit || isLive && buffer.last == 0x0a { empty() }
    }

    private func redirect(to path: String?) throws {
        try flush()
        var new = standard
        if let path {
            new = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard new >= 0 else { throw Failure("\(path) cannot be written: \(systemMessage(errno))") }
        }
        if descriptor != standard { close(descriptor) }
        descriptor = new
    }

    private func empty() {
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
        empty()
        guard failure == 0 else {
            defer { failure = 0 }
            throw Failure("the output cannot be written: \(systemMessage(failure))")
        }
    }
}

extension Output {
    static var current: Output { Invocation.current.output }

    /// The command that shows results longer than the terminal; nil writes them directly.
    static var pager: String? {
        get { current.pager }
        set { current.pager = newValue }
    }

    /// Whether the user has left the pager, which then reads no more.
    static var readerHasLeft: Bool { current.running != nil && current.failure == EPIPE }

    /// Runs `body`, and shows what it writes through the pager if it has more lines than the terminal.
    static func paged<R>(_ body: () throws -> R) rethrows -> R { try current.paged(body) }

    /// Writes a line to standard output.
    static func line(_ text: String = "") { current.line(text) }

    /// Sends later output to a file; nil returns to standard output.
    static func redirect(to path: String?) throws { try current.redirect(to: path) }

    /// Writes out the buffer. Without this, a full disk would go unnoticed when output goes to a file.
    static func flush() throws(Failure) { try current.flush() }

    /// Writes a line to standard error.
    static func error(_ text: String) { write(text + "\n", to: Invocation.current.errors) }

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
    /// The text on one line, without characters that control a terminal: file names and database contents are untrusted.
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
    /// Whether this is a control character, or one that changes the direction of text.
    fileprivate var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
