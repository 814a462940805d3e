import Foundation
import TestSupport
import Testing

/// A checkout without the vendored source does not end in a riddle.
@Suite struct MissingSourceTests {
    @Test func missingSourceErrorNamesSetupCommand() throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appendingPathComponent("Sources")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        for module in ["CSQLCipher", "CSQLCipherStems"] {
            try FileManager.default.copyItem(at: Repository.file("Sources/\(module)"), to: target.appendingPathComponent(module))
        }

        for file in ["CSQLCipher/Engine/engine.c", "CSQLCipher/include/CSQLCipher.h", "CSQLCipherStems/stems.c"] {
            let compiled = try Command.run("clang", ["-fsyntax-only", target.appendingPathComponent(file).path])
            #expect(compiled.status != 0)
            #expect(compiled.errors.contains(/error: .*Run \.\/scripts\/setup/))
        }
    }
}
