import Foundation
import SQLCipherKit

/// A folder of a test's own, removed with everything in it when the test is over.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "sqlcipherkit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// The bytes of all files in the folder.
    func allBytes() throws -> Data {
        try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
            .reduce(into: Data()) { $0.append(try Data(contentsOf: $1)) }
    }
}

extension Configuration {
    /// Few rounds of key derivation, for tests in which their number is not the point.
    static var quick: Configuration {
        var configuration = Configuration()
        configuration.cipher = .quick
        return configuration
    }
}

extension CipherConfiguration {
    static var quick: CipherConfiguration {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        return cipher
    }
}
