import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync

extension Notebook {
    /// The folder in which copies leave their changes for each other, encrypted.
    public func changeStore(in folder: String) throws -> ChangeStore { ChangeStore(try FolderStore(folder), key: key) }

    /// Makes this copy equal to all others that use the folder, as far as they have left their changes there. A notebook that came
    /// back from a backup or from its safe copy takes what the others have.
    /// - Returns: the number of changes that were received, and of transactions that were left for the others.
    @discardableResult public func synchronize(with store: ChangeStore) async throws -> (received: Int, sent: Int) {
        let outcome: ChangeStore.Outcome
        do { outcome = try await log.synchronize(with: store) } catch
            let error as DatabaseError where error.reason == .copyRestored {
            try await log.withLog { log in try log.resolveRestore(.takingOthers) }
            outcome = try await log.synchronize(with: store)
        }
        return (outcome.received.tables.reduce(0) { $0 + $1.applied }, outcome.sent)
    }

    /// The same once, as a command does it.
    @discardableResult public func synchronize(through folder: String) async throws -> (received: Int, sent: Int) {
        try await synchronize(with: changeStore(in: folder))
    }

    /// Returns true if a person has switched this copy off from the others. The switch survives the end of the program.
    public func isOffline() async throws -> Bool {
        try await SharedKeyValueStore("settings", in: pool).get("offline", default: false)
    }

    public func setOffline(_ isOffline: Bool) async throws {
        try await SharedKeyValueStore("settings", in: pool).set("offline", to: isOffline)
    }
}
