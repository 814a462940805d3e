import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import SQLCipherKit
import SQLCipherKitReplication
@testable import SearchServerKit

/// A folder for the databases and the store of a test.
final class TestFolder: Sendable {
    static let passphrase = "correct horse battery staple"

    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("search-server-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var store: FolderStore { get throws { try FolderStore(path + "/store") } }

    func settings(_ database: String, passphrase: String = TestFolder.passphrase) throws -> SearchServer.Settings {
        var settings = SearchServer.Settings(database: "\(path)/\(database)", key: try .passphrase(passphrase))
        settings.logger.logLevel = .critical
        return settings
    }

    /// Runs a server on a free port, and shuts it down in the end.
    @discardableResult
    func primary<R: Sendable>(
        _ database: String, _ body: @escaping @Sendable (NotesClient) async throws -> R
    ) async throws -> R {
        try await SearchServer.primary(settings(database), store: store).test(.live) { try await body(NotesClient($0)) }
    }

    @discardableResult
    func follower<R: Sendable>(
        _ database: String, _ body: @escaping @Sendable (NotesClient) async throws -> R
    ) async throws -> R {
        try await SearchServer.follower(settings(database), of: store).test(.live) { try await body(NotesClient($0)) }
    }

    /// Returns true if any file contains these bytes.
    func contains(_ text: String) throws -> Bool {
        let files = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return files.contains { file in
            FileManager.default.contents(atPath: "\(path)/\(file)")?.range(of: Data(text.utf8)) != nil
        }
    }
}
