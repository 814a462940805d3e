import Foundation

/// A test's own folder, which is removed with the value that holds it.
public final class TemporaryFolder: Sendable {
    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("sqlcipherkit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The path of a file in the folder.
    public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// The names of the files in the folder, sorted.
    public func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }

    /// The bytes of all files in the folder, one after the other.
    public func allBytes() throws -> Data {
        try names().reduce(into: Data()) { bytes, name in bytes.append(try Data(contentsOf: url.appendingPathComponent(name))) }
    }
}
