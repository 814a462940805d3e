import ArgumentParser
import SQLCipherKit

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Show the versions and features of the built-in engine.",
        discussion: """
            Everything shown comes from the running engine. --json includes the compile options.

            \(form)
            """)

    private static let form = JSONForm.object(
        "sqlcipher", "sqlite", "source_id", "crypto_provider", "crypto_provider_version", "kernels", "features", "compile_options")

    @OptionGroup var report: ReportOptions

    func run() throws {
        if report.json { return try report.write(Self.form, values) }
        Output.line("SQLCipher  \(SQLCipherEngine.cipherVersion)")
        Output.line("SQLite     \(SQLCipherEngine.sqliteVersion)")
        Output.line("source     \(SQLCipherEngine.sourceID)")
        Output.line("crypto     \(SQLCipherEngine.cryptoProvider), \(SQLCipherEngine.cryptoProviderVersion)")
        let kernels = SQLCipherEngine.cryptoImplementations
        Output.line(
            "           AES: \(kernels.aes); SHA-512: \(kernels.sha512); PBKDF2: \(kernels.pbkdf2); random: \(kernels.random)")
        let features = SQLCipherEngine.Feature.allCases
        Output.line("with       " + features.filter(SQLCipherEngine.supports).map(\.description).joined(separator: ", "))
        let missing = features.filter { !SQLCipherEngine.supports($0) }
        if !missing.isEmpty { Output.line("without    " + missing.map(\.description).joined(separator: ", ")) }
    }

    private var values: [JSONValue] {
        let kernels = SQLCipherEngine.cryptoImplementations
        let features = SQLCipherEngine.Feature.allCases.map {
            (name: $0.description, value: JSONValue.bool(SQLCipherEngine.supports($0)))
        }
        return [
            .string(SQLCipherEngine.cipherVersion),
            .string(SQLCipherEngine.sqliteVersion),
            .string(SQLCipherEngine.sourceID),
            .string(SQLCipherEngine.cryptoProvider),
            .string(SQLCipherEngine.cryptoProviderVersion),
            [
                "aes": .string(kernels.aes), "sha512": .string(kernels.sha512), "page": .string(kernels.page),
                "pbkdf2": .string(kernels.pbkdf2), "random": .string(kernels.random),
            ],
            .object(JSONObject(members: features)),
            .array(SQLCipherEngine.compileOptions.map { .string($0) }),
        ]
    }
}
