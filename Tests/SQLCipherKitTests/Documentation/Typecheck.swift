import Foundation
import TestSupport

/// Sources that use the package as it was built, given to the compiler.
enum Typecheck {
    /// The compiler's errors, each with its line.
    /// - Parameter milliseconds: how long an expression may take to be typed, if it is an error to take longer.
    static func errors(of source: String, within milliseconds: Int? = nil) throws -> [(line: Int, text: String)] {
        let folder = try TemporaryFolder(), file = folder.path("Source.swift")
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let limit = milliseconds.map { ["-warnings-as-errors", "-Xfrontend", "-warn-long-expression-type-checking=\($0)"] } ?? []
        let outcome = try Command.run(
            "swiftc", ["-typecheck", "-swift-version", "6", file] + limit + modules())
        return outcome.errorLines.compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
            guard parts.count == 5, parts[0].hasSuffix("Source.swift"), parts[3] == " error" else { return nil }
            return Int(parts[1]).map { ($0, String(parts[4])) }
        }
    }

    /// The compiler's arguments that make the package's modules known.
    static func modules() throws -> [String] {
        let products = try BuildProducts.folder.path
        let maps = ["CSQLCipher", "CSQLCipherProvider", "CSQLCipherStems", "CSQLCipherVectors"].map { "\(products)/\($0).build/module.modulemap" }
            + [Repository.file("Sources/CLibTomCrypt/module.modulemap").path]
        return ["-I", "\(products)/Modules"]
            + maps.filter { FileManager.default.fileExists(atPath: $0) }.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    }

    /// The compiler's arguments that link SQLCipherKit as it was built.
    static func objects() throws -> [String] {
        let list = try BuildProducts.folder.appendingPathComponent("SQLCipherKitPackageTests.product/Objects.LinkFileList")
        let built = #//(?:SQLCipherKit(?:Concurrency|Core|Files|Records|Search)?|CSQLCipher(?:Engine|Provider|Stems)?)\.build//#
        let lines = try String(contentsOf: list, encoding: .utf8).split(separator: "\n")
        let files = lines.filter { $0.contains(built) }.map { $0.trimmingCharacters(in: ["'", "\""]) }
        return files + ["-use-ld=lld", "-ltomcrypt", "-lm"]
    }
}
