import Foundation

/// Notes the protection that is set, which Linux does not have.
final class FileManager: Sendable {
    static let `default` = FileManager()
    nonisolated(unsafe) static var seen: [String: String] = [:]

    func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath path: String) throws {
        guard fileExists(atPath: path) else { throw CocoaError(.fileNoSuchFile) }
        if let protection = attributes[.protectionKey] as? FileProtectionType { Self.seen[path] = protection.rawValue }
    }

    func fileExists(atPath path: String) -> Bool { Foundation.FileManager.default.fileExists(atPath: path) }
    func createDirectory(at url: URL, withIntermediateDirectories: Bool) throws {
        try Foundation.FileManager.default.createDirectory(at: url, withIntermediateDirectories: withIntermediateDirectories)
    }
    func removeItem(atPath path: String) throws { try Foundation.FileManager.default.removeItem(atPath: path) }
}

extension URL {
    /// Foundation has it on Apple's platforms alone.
    nonisolated(unsafe) static var applicationSupportDirectory = URL(fileURLWithPath: NSTemporaryDirectory())
}
