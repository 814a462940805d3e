import Foundation
import SQLCipherKit

/// Key providers that change or need the environment of a process.
extension FaultDriver {
    static func runKeys(_ action: String, _ path: String, _ arguments: [String]) throws {
        switch action {
        case "keys-environment":
            let name = arguments[0]
            say("before: \(environmentShows("pass phrase") ? "shown" : "not shown") in the environment")
            _ = try Connection(.file(path), key: .provided(by: .environment(name), cipher: quick))
            let again = try KeySource.environment(name).key()
            say("after: getenv \(getenv(name) == nil ? "nil" : "set"), environ \(environmentShows("pass phrase") ? "with" : "without") it, again \(again == nil ? "nil" : "a key")")
        case "keys-credential":
            _ = try Connection(.file(path), key: .provided(by: .systemdCredential(arguments[0]), cipher: quick))
        default:
            throw DatabaseError(message: "no action \(action)")
        }
    }

    /// True if the environment that the process was started with, where the system keeps it, contains a text.
    private static func environmentShows(_ text: String) -> Bool {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/self/environ"))) ?? Data()
        return bytes.range(of: Data(text.utf8)) != nil
    }
}
