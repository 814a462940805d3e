import Foundation
import TestSupport
import Testing

/// The functions of the engine that inlinable functions call have names that no other SQLite has (`include/inlined.h`).
@Suite struct InlinedCallsTests {
    /// The text after an attribute, up to the end of the body.
    private func body(_ text: Substring) -> Substring {
        guard var position = text.firstIndex(of: "{") else { return text }
        var depth = 0
        while position < text.endIndex {
            if text[position] == "{" { depth += 1 }
            if text[position] == "}" {
                depth -= 1
                if depth == 0 { break }
            }
            position = text.index(after: position)
        }
        return text[..<position]
    }

    @Test func inlinableFunctionsCallPrefixedEngineNames() throws {
        let folder = Repository.file("Sources")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var inlinable = 0, unique = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for attribute in text.matches(of: /@inlinable|@_transparent|@_alwaysEmitIntoClient/) {
                let body = body(text[attribute.range.upperBound...])
                inlinable += 1
                unique += body.contains("sqlcipherkit_sqlite3_") ? 1 : 0
                #expect(body.firstMatch(of: /\bsqlite3_\w+\(/) == nil, "\(file.lastPathComponent): \(body)")
            }
        }
        // Without these nothing was looked at.
        #expect(inlinable > 100 && unique > 10)
    }

    /// Their declarations say what SQLite's do.
    @Test func inlinedDeclarationsMatchSQLiteTypes() throws {
        let folder = try TemporaryFolder()
        let header = try String(contentsOf: Repository.file("Sources/CSQLCipher/include/inlined.h"), encoding: .utf8)
        let names = header.matches(of: /sqlcipherkit_(sqlite3_\w+)\(/).map { String($0.1) }
        try #require(names.count > 10)
        let checks = names.map { name in
            "_Static_assert(__builtin_types_compatible_p(__typeof__(\(name)), __typeof__(sqlcipherkit_\(name))), \"\");"
        }
        let file = folder.url.appendingPathComponent("check.c")
        try Data("#include \"CSQLCipher.h\"\n\(checks.joined(separator: "\n"))\n".utf8).write(to: file)
        let compiled = try Command.run(
            "clang", ["-std=gnu11", "-fsyntax-only", "-I", Repository.file("Sources/CSQLCipher/include").path, file.path])
        #expect(compiled.status == 0, "\(compiled.errors)")
    }
}
