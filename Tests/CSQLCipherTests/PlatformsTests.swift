import Foundation
import TestSupport
import Testing

/// The pages' statements about platforms, and the check of C names in the Swift sources against the headers.
@Suite struct PlatformsTests {
    private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..").standardizedFileURL

    private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
        try Probe.run(URL(fileURLWithPath: "/usr/bin/env"), [program] + arguments)
    }

    @Test func platformTableMatchesCheckScript() throws {
        let (status, table) = try run(root.appendingPathComponent("scripts/workshop/check-platforms").path, ["--table"])
        #expect(status == 0)
        #expect(table.split(separator: "\n").count > 10)
        let page = "Sources/SQLCipherKit/Documentation.docc/Platforms.md"
        let text = try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
        #expect(text.contains(table), "put the output of ./scripts/workshop/check-platforms --table into \(page)")
    }

    @Test func unknownPlatformIsReported() throws {
        let script = root.appendingPathComponent("scripts/workshop/lib/platforms.py").path
        let (status, output) = try run("python3", ["-I", "-B", script, "Amiga"])
        #expect(status == 2 && output.contains("Amiga") && output.contains("macOS, arm64"))
    }

    /// Headers of three small C libraries, and one Swift file.
    private func names(_ swift: String) throws -> (status: Int32, output: String) {
        let folder = try TemporaryFolder()
        let headers = [
            "any-darwin-any": "int open(const char *); int renamex_np(void);\n#define EINVAL 22\n#define O_SYMLINK 1\n",
            "generic-glibc": "int open(const char *); int getrandom(void); int only_gnu(void);\n#define EINVAL 22\n",
            "generic-musl": "int open(const char *); int getrandom(void);\n#define EINVAL 22\n",
        ]
        for (name, text) in headers {
            let place = URL(fileURLWithPath: folder.path("headers/\(name)"))
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            try text.write(to: place.appendingPathComponent("all.h"), atomically: true, encoding: .utf8)
        }
        let sources = URL(fileURLWithPath: folder.path("sources"))
        try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
        try swift.write(to: sources.appendingPathComponent("Planted.swift"), atomically: true, encoding: .utf8)
        let script = root.appendingPathComponent("scripts/workshop/lib/c_names.py").path
        return try run("python3", ["-I", "-B", script, folder.path("headers"), sources.path])
    }

    @Test(arguments: [
        ("import Foundation\n_ = getrandom()", "Planted.swift:2: getrandom: not in the headers of Darwin"),
        ("import Foundation\n_ = open(name)\n_ = only_gnu()", "Planted.swift:3: only_gnu: not in the headers of Musl"),
        ("import Foundation\nlet flag = O_SYMLINK", "Planted.swift:2: O_SYMLINK: not in the headers of Glibc"),
        ("import Foundation\n#if os(Linux)\n_ = renamex_np()\n#endif", "renamex_np: not in the headers of Glibc"),
        ("import Foundation\n#if !canImport(Darwin)\n_ = 1\n#else\n_ = getrandom()\n#endif", "getrandom: not in the headers of Darwin"),
        ("import Glibc\n_ = open(name)", "imports Glibc, which is not there with Darwin"),
        ("_ = open(name)", "open: nothing is imported that has C's names with Musl"),
        ("import Foundation\n_ = Glibc.open(name)", "Glibc.: there is no such module with Darwin"),
    ])
    func missingCLibraryNameIsFound(swift: String, expected: String) throws {
        let (status, output) = try names(swift)
        #expect(status == 1)
        #expect(output.contains(expected), "\(output)")
    }

    @Test(arguments: [
        "import Foundation\n_ = open(name)\nlet e = EINVAL",
        "import Foundation\n#if os(Linux)\n_ = getrandom()\n#else\n_ = renamex_np()\n#endif",
        "#if canImport(Glibc)\nimport Glibc\n#elseif canImport(Musl)\nimport Musl\n#elseif canImport(Darwin)\nimport Darwin\n#endif\n_ = open(x)",
        // Of Swift's own, of another type, in a string, in a comment.
        "import Foundation\nfunc getrandom() {}\ngetrandom()",
        "import Foundation\nthing.getrandom()\nlet s = \"getrandom()\" // renamex_np()\n/* O_SYMLINK */",
    ])
    func availableOrGuardedCNamesAreAccepted(swift: String) throws {
        let (status, output) = try names(swift)
        #expect(status == 0, "\(output)")
    }
}
