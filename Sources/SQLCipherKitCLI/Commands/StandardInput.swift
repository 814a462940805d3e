import Foundation

/// Standard input, which the argument `-` stands for.
enum StandardInput {
    /// Reads all of it.
    static func text() throws -> String {
        let bytes = try FileHandle(fileDescriptor: Invocation.current.input).readToEnd() ?? Data()
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure("the SQL on standard input is not UTF-8")
        }
        return text
    }
}
