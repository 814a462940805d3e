import CSQLCipher
import Foundation
import SQLCipherKit

/// Uses keys in every way, successfully and not, with every log and trace on, and prints everything that becomes visible.
extension FaultDriver {
    static func runReport(_ path: String, _ arguments: [String]) throws {
        let passphrase = arguments[0], raw = Data(arguments[1].utf8), recovery = arguments[2], log = arguments[3]
        traceEveryConnection()
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(50)
        configuration.errorsShowArguments = true
        let key = try DatabaseKey.passphrase(passphrase, cipher: quick), rawKey = try DatabaseKey.raw(raw)
        var other = quick
        other.pageSize = 8192

        let messages = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try SQLCipherEngine.setLogger(minimumLevel: .trace) { message in try? messages.write(contentsOf: Data("\(message)\n".utf8)) }
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.addTraceHook(showingValues: true) { event in say("trace with values: \(event)") }
        try db.execute("CREATE TABLE IF NOT EXISTS t(x)")
        show(key, rawKey, db, configuration)
        // Errors of opening, with each form of key.
        attempt { _ = try Connection(.file(path), key: rawKey.with(cipher: quick), configuration: configuration) }
        attempt { _ = try Connection(.file(path), key: .passphrase(passphrase + "x", cipher: quick), configuration: configuration) }
        attempt { _ = try Connection(.file(path), key: key.with(cipher: other), configuration: configuration) }
        attempt { _ = try Connection(.file("/dev/null/" + path), key: key) }
        attempt { _ = try DatabaseKey.raw(raw + raw) }
        // Errors of attaching and of changing the key.
        attempt { try db.attach(.file(path), as: "b", key: rawKey) }
        attempt { try db.attach(.file(path + ".2"), as: "c", key: key) }
        attempt { try db.attach(.file(path + ".3"), as: "d", key: rawKey) }
        attempt { try db.attach(.file(path + ".3"), as: "d", key: rawKey) }
        attempt { try db.schema("no such name").changeKey(to: rawKey) }
        attempt { try db.transaction { try $0.changeKey(to: rawKey) } }
        show(try db.fetchAll(String.self, "SELECT sql FROM sqlite_stmt"), try db.fetchAll(String.self, "SELECT name FROM pragma_pragma_list"))
        for name in ["c", "d"] { try db.schema(name).detach() }
        try db.changeKey(to: rawKey)
        try db.changeKey(to: key)
        show(try db.fetchAll(String.self, "PRAGMA cipher_settings"), try db.fetchAll(String.self, "PRAGMA cipher_integrity_check"))
        db.close()
        attempt { try db.changeKey(to: rawKey) }
        // Errors of slots and of providers.
        let location = DatabaseLocation.file(path + ".4")
        try Connection(location, key: rawKey).execute("CREATE TABLE t(x)")
        let secret = try KeySlots.Secret.passphrase(passphrase), code = try KeySlots.RecoveryKey(text: recovery)
        attempt { _ = try KeySlots.create(secret, label: "a", for: location, derivation: .quick) }
        let slots = try KeySlots.create(secret, label: "a", for: location, existingKey: rawKey, derivation: .quick)
        try slots.add(.recoveryKey(code), label: "b", derivation: .quick)
        show(slots, secret, code, KeySlots.Secret.recoveryKey(code), try slots.slots())
        attempt { try slots.add(secret, label: "a", derivation: .quick) }
        attempt { try slots.changePassphrase("a", from: .recoveryKey(code), to: secret) }
        attempt { _ = try KeySlots.unlock(.passphrase(passphrase + "x"), of: location) }
        attempt { _ = try KeySlots.unlock(secret, of: .file(path)) }
        attempt { _ = try KeySlots.RecoveryKey(text: recovery + "0") }
        attempt { _ = try KeySlots.RecoveryKey(text: String(recovery.reversed())) }
        let file = path + ".key"
        try Data(passphrase.utf8).write(to: URL(fileURLWithPath: file))
        chmod(file, 0o644)
        attempt { _ = try Connection(.file(path), key: .provided(by: .file(file))) }
        chmod(file, 0o600)
        attempt { _ = try Connection(.file(path), key: .provided(by: .file(file, as: .hexadecimal))) }
        attempt { _ = try Connection(.file(path), key: .provided(by: .file(file, as: .raw))) }
        setenv("SQLCIPHERKIT_TEST_KEY", passphrase, 1)
        attempt { _ = try Connection(.file(path), key: .provided(by: .environment("SQLCIPHERKIT_TEST_KEY", as: .hexadecimal))) }
    }

    private static func show(_ values: Any...) {
        for value in values {
            var text = "\(value) \(String(reflecting: value)) "
            dump(value, to: &text)
            say(text)
        }
    }

    /// Runs `body`, and prints the error that it throws.
    private static func attempt(_ body: () throws -> Void) {
        do { try body() } catch {
            show(error)
            say("an error was shown")
        }
    }

    /// Prints each statement that any connection runs from now on, as SQLite passes it to a trace
    /// (<https://sqlite.org/c3ref/trace_v2.html>).
    private static func traceEveryConnection() {
        let install: @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?) -> Int32 = { db, _, _ in
            sqlite3_trace_v2(db, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE), { kind, _, statement, text in
                if kind == UInt32(SQLITE_TRACE_STMT), let text {
                    print("trace: \(String(cString: text.assumingMemoryBound(to: CChar.self)))")
                }
                return 0
            }, nil)
        }
        sqlite3_auto_extension(unsafeBitCast(install, to: (@convention(c) () -> Void).self))
    }
}
