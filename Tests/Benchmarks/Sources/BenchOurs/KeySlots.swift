import Harness
import SQLCipherKit

/// Opening with the first of two key slots: one derivation as new slots have it. In C the passphrase is the database's own.
func openWithSlots(_ settings: Settings) throws -> Workload {
    let location = DatabaseLocation.file("\(settings.folder)/slots.db")
    let slots = try KeySlots.create(.passphrase("correct horse"), label: "laptop", for: location)
    _ = try slots.addRecoveryKey(label: "safe")
    let db = try Connection(location, key: .slots(slots))
    try db.execute("CREATE TABLE t(x)")
    try db.execute("INSERT INTO t VALUES (1)")
    return Workload {
        let db = try Connection(location, key: .slots(secret: .passphrase("correct horse"), preferredSlot: "laptop"))
        defer { db.close() }
        return try db.fetchOne(Int64.self, "SELECT count(*) FROM t") ?? 0
    }
}
