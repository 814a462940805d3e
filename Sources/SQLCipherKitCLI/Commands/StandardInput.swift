import Foundation

/// Standard input, where an argument of `-` asks for it.
enum StandardInput {
    /// All of it.
    /// - Parameter subject: what it is, for the error.
    static func text(_ subject: String) throws -> String {
        let bytes = try FileHandle.standardInput.readToEnd() ?? Data()
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure("\(subject) on standard input is not UTF-8")
        }
        return text
    }
}
