import Foundation

/// Standard input, which the argument `-` stands for.
enum StandardInput {
    /// Reads all of it.
    /// - Parameter subject: what the input is, for the error.
    static func text(_ subject: String) throws -> String {
        let bytes = try FileHandle(fileDescriptor: Invocation.current.input).readToEnd() ?? Data()
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure("\(subject) on standard input is not UTF-8")
        }
        return text
    }
}
