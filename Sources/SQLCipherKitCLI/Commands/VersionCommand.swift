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
        Output.line("SQLCipher  \(Engine.cipherVersion)")
        Output.line("SQLite     \(Engine.sqliteVersion)")
        Output.line("source     \(Engine.sourceID)")
        Output.line("crypto     \(Engine.cryptoProvider), \(Engine.cryptoProviderVersion)")
        let kernels = Engine.kernels
        Output.line("           AES: \(kernels.aes); SHA-512: \(kernels.sha512); PBKDF2: \(kernels.pbkdf2); random: \(kernels.random)")
        let features = Engine.Feature.allCases
        Output.line("with       " + features.filter(Engine.supports).map(\.title).joined(separator: ", "))
        let missing = features.filter { !Engine.supports($0) }
        if !missing.isEmpty { Output.line("without    " + missing.map(\.title).joined(separator: ", ")) }
        guard verbose else { return }
        Output.line("options")
        for option in Engine.compileOptions { Output.line("           \(option)") }
    }

    private var object: JSONValue {
        let kernels = Engine.kernels
        let features = Engine.Feature.allCases.map { (name: $0.rawValue, value: JSONValue.bool(Engine.supports($0))) }
        return [
            "sqlcipher": .string(Engine.cipherVersion),
            "sqlite": .string(Engine.sqliteVersion),
            "sourceID": .string(Engine.sourceID),
            "cryptoProvider": .string(Engine.cryptoProvider),
            "cryptoProviderVersion": .string(Engine.cryptoProviderVersion),
            "kernels": [
                "aes": .string(kernels.aes), "sha512": .string(kernels.sha512), "page": .string(kernels.page),
                "pbkdf2": .string(kernels.pbkdf2), "random": .string(kernels.random),
            ],
            "features": .object(JSONObject(members: features)),
            "compileOptions": .array(Engine.compileOptions.map { .string($0) }),
        ]
    }
}

extension Engine.Feature {
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
