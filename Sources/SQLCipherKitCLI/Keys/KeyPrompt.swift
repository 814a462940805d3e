import Foundation
import SQLCipherKit

/// Asks for a key on the terminal, without showing what is typed.
enum KeyPrompt {
    /// The longest line that a terminal's line editing holds, in bytes. The terminal silently drops the rest.
    private static let lineLimit = 4095

    /// True if there is a terminal to ask on.
    static var hasTerminal: Bool {
        let own = Invocation.current.openTerminal()
        guard own >= 0 else { return Terminal.isTerminal(Invocation.current.input) }
        close(own)
        return true
    }

    /// - Parameters:
    ///   - question: the prompt.
    ///   - again: the prompt for the second entry, which must be the same; nil asks once.
    ///   - encoding: how the key is written.
    static func ask(_ question: String, again: String?, _ encoding: KeyEncoding) throws -> KeySource {
        let missing = Failure(
            "no key: there is no terminal to ask on, and none of --key-file, --key-env, --key-fd and --key-credential is given",
            status: .key)
        let own = Invocation.current.openTerminal()
        defer { if own >= 0 { close(own) } }
        // The terminal itself, so that standard input and output stay free for data.
        let terminal = own >= 0 ? own : Invocation.current.input
        guard Terminal.isTerminal(terminal) else { throw missing }
        let first = try TerminalMode.hidingInput(terminal) { try line(terminal, question) }
        if let again {
            let second = try TerminalMode.hidingInput(terminal) { try line(terminal, again) }
            let isSame = first.withUnsafeBytes { a in second.withUnsafeBytes { b in a.elementsEqual(b) } }
            guard isSame else { throw Failure("the two keys are not the same", status: .key) }
        }
        return try source(first, encoding)
    }

    /// Reads the typed line, padded with zeros.
    private static func line(_ terminal: Int32, _ question: String) throws -> SecureBytes {
        let messages = terminal == Invocation.current.input ? Invocation.current.errors : terminal
        Output.write(question.onOneLine, to: messages)
        defer { Output.write("\n", to: messages) }
        var failure: Failure?
        let memory = try SecureBytes(count: lineLimit + 1) { memory in
            var count = 0
            while count < memory.count {
                let got = read(terminal, memory.baseAddress! + count, memory.count - count)
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = Failure("the key cannot be read from the terminal: \(systemMessage(errno))", status: .key) }
                if got == 0 && count == 0 { failure = Failure("no key was given", status: .key) }
                if got <= 0 { return }
                count += got
                guard memory[count - 1] == UInt8(ascii: "\n") else { continue }
                if count >= lineLimit { failure = Failure("a key this long cannot be typed: use --key-file", status: .key) }
                return
            }
        }
        if let failure { throw failure }
        return memory
    }

    private static func source(_ typed: borrowing SecureBytes, _ encoding: KeyEncoding) throws -> KeySource {
        try typed.withUnsafeBytes { bytes in
            try .passed(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.firstIndex(of: 0) ?? bytes.count)]), as: encoding)
        }
    }
}

extension KeySource {
    /// Passes bytes through a pipe, so that they are parsed as the content of a file or a descriptor is.
    static func passed(_ bytes: UnsafeRawBufferPointer, as encoding: KeyEncoding) throws -> KeySource {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure("a pipe cannot be created: \(systemMessage(errno))") }
        defer { close(ends[1]) }
        guard write(ends[1], bytes.baseAddress, bytes.count) == bytes.count else {
            close(ends[0])
            throw Failure("the key cannot be passed on: \(systemMessage(errno))")
        }
        return .fileDescriptor(ends[0], as: encoding)
    }
}
