import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync

extension Notebook {
    /// Makes this copy equal to all others that use the folder, as far as they have left their changes there.
    /// - Returns: the number of changes that were received, and of transactions that were left for the others.
    @discardableResult
    public func synchronize(through folder: String) async throws -> (received: Int, sent: Int) {
        let outcome = try await log.synchronize(with: ChangeStore(FolderStore(folder), key: key))
        return (outcome.received.tables.reduce(0) { $0 + $1.applied }, outcome.sent)
    }
}
