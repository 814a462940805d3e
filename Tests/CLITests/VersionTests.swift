import Foundation
import SQLCipherKit
import TestSupport
import Testing

@Suite struct VersionTests {
    @Test func versionShowsRunningEngine() throws {
        let text = try Tool.output("version")
        #expect(try Tool.runProgram(["version"]).output == text)
        #expect(text.contains("SQLCipher  \(SQLCipherEngine.cipherVersion)\n"))
        #expect(text.contains("SQLite     \(SQLCipherEngine.sqliteVersion)\n"))
        #expect(text.contains(SQLCipherEngine.sourceID))
        #expect(text.contains("crypto     \(SQLCipherEngine.cryptoProvider), \(SQLCipherEngine.cryptoProviderVersion)\n"))
        #expect(text.contains("AES: \(SQLCipherEngine.cryptoImplementations.aes)") && !SQLCipherEngine.cryptoImplementations.aes.isEmpty)
        #expect(text.contains("fts5") && text.contains("json"))
        let engine = "SQLCipher \(SQLCipherEngine.cipherVersion), SQLite \(SQLCipherEngine.sqliteVersion)"
        #expect(try Tool.output("--version").contains(engine))
    }

    @Test func versionPrintsJSON() throws {
        let object = try JSONValue(text: try Tool.output("version", "--json").trimmingCharacters(in: .newlines))
        #expect(object["sqlcipher"]?.stringValue == SQLCipherEngine.cipherVersion)
        #expect(object["features"]?["fts5"] == true)
        #expect(object["features"]?["json"] == true)
        guard case .array(let options)? = object["compile_options"] else { throw CocoaError(.coderInvalidValue) }
        #expect(options.contains("ENABLE_FTS5") && options.count == SQLCipherEngine.compileOptions.count)
    }

    #if os(Linux)
        /// Read-only addresses, bound at the start; a place in memory of its own each time; no code on the stack.
        @Test func toolBinaryIsHardened() throws {
            let outcome = try Command.run("readelf", ["--file-header", "--dynamic", "--program-headers", "--wide", Tool.path])
            try #require(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("GNU_RELRO") && outcome.output.contains(/BIND_NOW|Flags: NOW/))
            #expect(outcome.output.contains(/Type: +DYN/) && outcome.output.contains(/FLAGS_1.* PIE/))
            #expect(outcome.output.contains(/GNU_STACK .* RW +0x/) && !outcome.output.contains("RWE"))
        }
    #endif
}
