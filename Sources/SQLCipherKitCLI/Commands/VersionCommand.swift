import ArgumentParser
import SQLCipherKit

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Show the versions and features of the engine that is compiled in.",
        discussion: "Everything shown is asked of the running engine.")

    @Flag(name: .shortAndLong, help: "Show the engine's compile options as well.")
    var verbose = false

    @Flag(help: "Write one JSON object, compile options included.")
    var json = false

    func run() throws {
        if json {
            Output.line(try object.line())
            return
        }
        Output.line("SQLCipher  \(SQLCipherEngine.cipherVersion)")
        Output.line("SQLite     \(SQLCipherEngine.sqliteVersion)")
        Output.line("source     \(SQLCipherEngine.sourceID)")
        Output.line("crypto     \(SQLCipherEngine.cryptoProvider), \(SQLCipherEngine.cryptoProviderVersion)")
        let kernels = SQLCipherEngine.kernels
        Output.line("           AES: \(kernels.aes); SHA-512: \(kernels.sha512); PBKDF2: \(kernels.pbkdf2); random: \(kernels.random)")
        let features = SQLCipherEngine.Feature.allCases
        Output.line("with       " + features.filter(SQLCipherEngine.supports).map(\.title).joined(separator: ", "))
        let missing = features.filter { !SQLCipherEngine.supports($0) }
        if !missing.isEmpty { Output.line("without    " + missing.map(\.title).joined(separator: ", ")) }
        guard verbose else { return }
        Output.line("options")
        for option in SQLCipherEngine.compileOptions { Output.line("           \(option)") }
    }

    private var object: JSONValue {
        let kernels = SQLCipherEngine.kernels
        let features = SQLCipherEngine.Feature.allCases.map { (name: $0.rawValue, value: JSONValue.bool(SQLCipherEngine.supports($0))) }
        return [
            "sqlcipher": .string(SQLCipherEngine.cipherVersion),
            "sqlite": .string(SQLCipherEngine.sqliteVersion),
            "sourceID": .string(SQLCipherEngine.sourceID),
            "cryptoProvider": .string(SQLCipherEngine.cryptoProvider),
            "cryptoProviderVersion": .string(SQLCipherEngine.cryptoProviderVersion),
            "kernels": [
                "aes": .string(kernels.aes), "sha512": .string(kernels.sha512), "page": .string(kernels.page),
                "pbkdf2": .string(kernels.pbkdf2), "random": .string(kernels.random),
            ],
            "features": .object(JSONObject(members: features)),
            "compileOptions": .array(SQLCipherEngine.compileOptions.map { .string($0) }),
        ]
    }
}

extension SQLCipherEngine.Feature {
    fileprivate var title: String {
        switch self {
        case .encryption: "encryption"
        case .fts5: "FTS5"
        case .fts4: "FTS3/4"
        case .json: "JSON"
        case .rtree: "R*Tree"
        case .sessions: "sessions"
        case .snapshots: "snapshots"
        case .mathFunctions: "math functions"
        case .percentile: "percentiles"
        case .updateDeleteLimit: "UPDATE/DELETE LIMIT"
        case .dbstat: "dbstat"
        }
    }
}
