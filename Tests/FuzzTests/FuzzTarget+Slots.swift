#if DEBUG || SQLCIPHERKIT_TESTABLE
import SQLCipherKit
@testable import SQLCipherKitFiles

/// Bytes that are kept beside a database.
extension FuzzTarget {
    /// A slot file, before its key is known.
    static let slots = FuzzTarget(name: "slots", maximumBytes: 8192) {
        let key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        var table = try SlotTable()
        for (secret, label) in [(try KeySlots.Secret.passphrase("one"), "one"), (try .recoveryKey(KeySlots.RecoveryKey()), "r\u{E9}serve")] {
            table.slots.append(
                try SlotRecord(
                    wrapping: key, for: secret, label: label, derivation: KeySlots.Derivation.pbkdf2(iterations: 1000), file: table.id))
        }
        let first = try table.bytes(under: key)
        try table.setPrevious(key, under: key)
        try table.advance(under: key)
        return [first, try table.bytes(under: key)]
    } body: { input in
        guard let table = try? SlotTable(parsing: input), table.version == SlotTable.version else { return }
        let key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        let again = try SlotTable(parsing: try table.bytes(under: key))
        try require(again == table, "a table differs when it was written and read again")
    }
}
#endif
