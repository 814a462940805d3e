import Foundation
import TestSupport
import Testing

/// A checkout without the vendored source does not end in a riddle.
@Suite struct MissingSourceTests {
    @Test func missingSourceErrorNamesSetupCommand() throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appendingPathComponent("Sources/CSQLCipher")
        try FileManager.default.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: Repository.file("Sources/CSQLCipher"), to: target)

        for file in ["Engine/engine.c", "include/CSQLCipher.h"] {
            let compiled = try Command.run("clang", ["-fsyntax-only", target.appendingPathComponent(file).path])
            #expect(compiled.status != 0)
            #expect(compiled.errors.contains(/error: .*Run \.\/scripts\/setup/))
        }
    }
}
