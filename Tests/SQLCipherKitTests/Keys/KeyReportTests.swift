import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// No log, trace, description or error shows a key, in any spelling.
@Suite struct KeyReportTests {
    @Test func logsTracesAndErrorsShowNoKey() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db"), log = folder.path("log")
        let passphrase = "Wolkenkuckucksheim 3000", raw = "a raw key of exactly 32 letters."
        let recovery = try KeySlots.RecoveryKey().text
        try Data().write(to: URL(fileURLWithPath: log))
        let outcome = try Command.run(BuildProducts.executable("FaultDriver"), ["report", path, passphrase, raw, recovery, log])
        #expect(outcome.status == 0, "\(outcome.output.suffix(500)) \(outcome.errors)")
        let engine = try Data(contentsOf: URL(fileURLWithPath: log))
        var shown = engine
        shown.append(Data(outcome.output.utf8))
        shown.append(Data(outcome.errors.utf8))
        let text = String(decoding: shown, as: UTF8.self)
        // There is something to look into.
        #expect(engine.count > 1000)
        #expect(outcome.output.split(separator: "\n").filter { $0 == "an error was shown" }.count >= 16, "\(outcome.output)")
        #expect(text.contains("trace with values: ") && text.contains("[redacted]") && text.contains("DatabaseKey(passphrase)"))
        let salt = try Array(Data(contentsOf: URL(fileURLWithPath: path)).prefix(16))
        let derived = try Python.run(
            """
            import hashlib, sys
            key = hashlib.pbkdf2_hmac("sha512", sys.argv[1].encode(), bytes.fromhex(sys.argv[2]), 10, 32)
            salt = bytes(b ^ 0x3a for b in bytes.fromhex(sys.argv[2]))
            print(key.hex()); print(hashlib.pbkdf2_hmac("sha512", key, salt, 2, 32).hex())
            """, passphrase, InteroperabilityTests.hex(salt)).split(separator: "\n").map(String.init)
        #expect(derived.count == 2)
        var needles = derived.map { String($0.prefix(16)) }
        for secret in [passphrase, raw] {
            let data = Data(secret.utf8)
            needles += [
                secret, String(secret.dropFirst(3).prefix(10)), String(InteroperabilityTests.hex(Array(data)).prefix(16)), String(data.base64EncodedString().prefix(12)),
                data.prefix(6).map { "\($0)" }.joined(separator: ", "),
            ]
        }
        needles += [String(recovery.prefix(9)), String(recovery.filter { $0 != "-" }.prefix(8))]
        for needle in needles { #expect(text.range(of: needle, options: .caseInsensitive) == nil, "\(needle)") }
    }
}
