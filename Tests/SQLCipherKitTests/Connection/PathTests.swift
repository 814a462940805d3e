import Foundation
import KitSupport
import SQLCipherKit
import TestSupport
import Testing

/// A path is made absolute once, where it is given.
@Suite struct PathTests {
    /// Runs `FaultDriver`, which makes each call with each form of a path, and compares its list with the public calls that take
    /// a path as a text.
    @Test func everyCallKeepsItsFileAfterChangeOfWorkingFolder() throws {
        let folder = try TemporaryFolder()
        let outcome = try Command.run(try BuildProducts.executable("FaultDriver"), ["paths", folder.url.path])
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.filter { $0.hasPrefix("failed") || $0.hasPrefix("error") } == [], "\(outcome.errors)")
        #expect(lines.last == "done", "\(outcome.output)")
        let tried = Set(lines.filter { $0.hasPrefix("call ") }.map { String($0.dropFirst(5)) })
        let declared = try Self.publicCalls()
        #expect(declared.count > 20)
        #expect(declared.subtracting(tried) == [])
    }

    /// The public calls with a parameter that is a path, as `Type.name(label:)`.
    private static func publicCalls() throws -> Set<String> {
        let sources = Repository.root.appendingPathComponent("Sources")
        var found: Set<String> = []
        let path = #/(?:^|[(,])\s*(\w+)(?: (?:path|newPath))?: String\??/#
        for module in ["Core", "Concurrency", "Files", "Stores", "Sync", "Replication"].map({ "SQLCipherKit\($0)" }) {
            let files = FileManager.default.enumerator(at: sources.appendingPathComponent(module), includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                // The path of an error is only told.
                guard file.pathExtension == "swift", file.lastPathComponent != "DatabaseError.swift" else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                let types = text.matches(of: #/(?m)^(?:(?:public|final) )*(?:struct|enum|actor|class|extension) ([\w.]+)/#)
                for match in text.matches(of: #/public (?:static |convenience )?(?:func (\w+)|(init))(\([^{]*?)(?:\n    \}| \{|\n        \{)/#) {
                    let type = types.last { $0.range.lowerBound < match.range.lowerBound }?.1 ?? ""
                    let name = "\(type).\(match.1 ?? match.2 ?? "")"
                    for parameter in match.3.matches(of: path) {
                        let whole = String(parameter.0)
                        guard whole.contains("path:") || whole.contains("Path:") || whole.contains("recoveryCopy:") else { continue }
                        found.insert("\(name)(\(parameter.1):)")
                    }
                }
            }
        }
        return found
    }

    @Test func locationIsAbsoluteWhereItIsMade() throws {
        let here = FileManager.default.currentDirectoryPath
        #expect(DatabaseLocation.file("q").path == here + "/q")
        #expect(DatabaseLocation.file("./q.db").path == here + "/./q.db")
        #expect(DatabaseLocation.file("/q").path == "/q")
        #expect(DatabaseLocation.uri("file:q?mode=ro").name == "file:\(here)/q?mode=ro")
        for uri in [":memory:", "file::memory:", "file:/q", "file:///q", "file:%2Fq", "file:q?mode=memory", "file:?mode=ro", "file:q?vfs=memdb"] {
            #expect(DatabaseLocation.uri(uri).name == uri)
        }
    }

    @Test(arguments: [
        ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b", "a", "b"), ("/a//b", "/a", "b"), ("/", "/", ""), ("", ".", ""),
        ("é/ü", "é", "ü"),
    ]) func parentOfShortPaths(path: String, folder: String, name: String) {
        #expect(path.parentFolder == folder)
        #expect(path.lastName == name)
    }
}
