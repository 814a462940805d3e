import Foundation
import TestSupport
import Testing

/// A copy of the engine's C sources beside an amalgamation that a test may change.
struct EngineCopy {
    let folder: TemporaryFolder
    private let original: String

    init() throws {
        folder = try TemporaryFolder()
        let files = FileManager.default
        for path in ["Sources/CSQLCipher", "Vendor/sqlcipher/sqlite3.h", "Vendor/sqlcipher/symbols.h"] {
            let target = folder.url.appendingPathComponent(path)
            try files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try files.copyItem(at: Repository.file(path), to: target)
        }
        original = try String(contentsOf: Repository.file("Vendor/sqlcipher/sqlite3.c"), encoding: .utf8)
    }

    /// Compiles the engine with some texts of the amalgamation replaced. Overrides by alias are seen only where code is generated.
    func compile(replacing edits: [(String, String)] = [], generatingCode: Bool = false) throws -> Command.Outcome {
        var source = original
        for (old, new) in edits {
            try #require(source.contains(old), "the amalgamation has no \(old)")
            source = source.replacingOccurrences(of: old, with: new)
        }
        try Data(source.utf8).write(to: folder.url.appendingPathComponent("Vendor/sqlcipher/sqlite3.c"))
        let mode = generatingCode ? ["-S", "-emit-llvm", "-o", "/dev/null"] : ["-fsyntax-only"]
        let engine = folder.url.appendingPathComponent("Sources/CSQLCipher/Engine/engine.c").path
        return try Command.run("clang", ["-std=gnu11"] + mode + [engine])
    }
}
