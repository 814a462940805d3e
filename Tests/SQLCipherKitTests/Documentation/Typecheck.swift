import Foundation
import TestSupport

/// What the compiler says of a source that uses the package as it was built.
enum Typecheck {
    /// The compiler's errors, each with its line.
    static func errors(of source: String) throws -> [(line: Int, text: String)] {
        let folder = try TemporaryFolder(), file = folder.path("Source.swift"), products = try BuildProducts.folder
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let maps = ["\(products.path)/CSQLCipher.build", "\(products.path)/CSQLCipherProvider.build"].map { "\($0)/module.modulemap" }
            + [Repository.file("Sources/CLibTomCrypt/module.modulemap").path]
        let outcome = try Command.run(
            "swiftc", ["-typecheck", "-swift-version", "6", "-I", "\(products.path)/Modules", file]
                + maps.filter { FileManager.default.fileExists(atPath: $0) }.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] })
        return outcome.errorLines.compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
            guard parts.count == 5, parts[0].hasSuffix("Source.swift"), parts[3] == " error" else { return nil }
            return Int(parts[1]).map { ($0, String(parts[4])) }
        }
    }
}
