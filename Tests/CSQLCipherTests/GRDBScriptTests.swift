import Foundation
import TestSupport
import Testing

/// `scripts/grdb`, with a repository in place of GRDB's whose manifest has the marks that GRDB's has.
@Suite struct GRDBScriptTests {
    let folder: TemporaryFolder
    let origin: URL

    init() throws {
        folder = try TemporaryFolder()
        origin = folder.url.appendingPathComponent("origin")
        try FileManager.default.createDirectory(at: origin, withIntermediateDirectories: true)
        _ = try git("init", "--quiet")
        try release("7.10.0", Self.manifest)
    }

    /// The parts that matter, in the order and the form that they have in GRDB's manifest.
    static let manifest = """
        // swift-tools-version:6.1
        import PackageDescription
        var swiftSettings: [SwiftSetting] = []
        var dependencies: [PackageDescription.Package.Dependency] = []

        // GRDB+SQLCipher: Uncomment those lines
        //dependencies.append(.package(url: "https://github.com/sqlcipher/SQLCipher.swift.git", from: "4.11.0"))
        //swiftSettings.append(.define("SQLITE_HAS_CODEC"))
        //swiftSettings.append(.define("SQLCipher"))

        let package = Package(
            name: "GRDB",
            products: [
                // GRDB+SQLCipher: Delete the GRDBSQLite library
                .library(name: "GRDBSQLite", targets: ["GRDBSQLite"]),
                .library(name: "GRDB", targets: ["GRDB"]),
            ],
            dependencies: dependencies,
            targets: [
                // GRDB+SQLCipher: Delete the GRDBSQLite target
                .systemLibrary(
                    name: "GRDBSQLite",
                    providers: [.apt(["libsqlite3-dev"])]),
                // GRDB+SQLCipher: Uncomment the GRDBSQLCipher target
                //.target(
                //    name: "GRDBSQLCipher",
                //    dependencies: [.product(name: "SQLCipher", package: "SQLCipher.swift")]
                //),
                .target(
                    name: "GRDB",
                    dependencies: [
                        // GRDB+SQLCipher: Delete the GRDBSQLite dependency
                        .target(name: "GRDBSQLite"),
                        // GRDB+SQLCipher: Uncomment the SQLCipher and GRDBSQLCipher dependencies
                        //.product(name: "SQLCipher", package: "SQLCipher.swift"),
                        //.target(name: "GRDBSQLCipher"),
                    ],
                    // A comment that stays.
                    path: "GRDB"),
            ])

        """

    static func expected(_ dependency: String, _ package: String) -> String {
        """
        // swift-tools-version:6.1
        import PackageDescription
        var swiftSettings: [SwiftSetting] = []
        var dependencies: [PackageDescription.Package.Dependency] = []

        dependencies.append(\(dependency))
        swiftSettings.append(.define("SQLITE_HAS_CODEC"))
        swiftSettings.append(.define("SQLCipher"))

        let package = Package(
            name: "GRDB",
            products: [
                .library(name: "GRDB", targets: ["GRDB"]),
            ],
            dependencies: dependencies,
            targets: [
                .target(
                    name: "GRDBSQLCipher",
                    dependencies: [.product(name: "SQLCipher", package: "\(package)")]
                ),
                .target(
                    name: "GRDB",
                    dependencies: [
                        .product(name: "SQLCipher", package: "\(package)"),
                        .target(name: "GRDBSQLCipher"),
                    ],
                    // A comment that stays.
                    path: "GRDB"),
            ])

        """
    }

    private func git(_ arguments: String...) throws -> String {
        let settings = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
        let outcome = try Command.run("git", ["-C", origin.path] + settings + arguments)
        try #require(outcome.status == 0, "\(outcome)")
        return outcome.output
    }

    private func release(_ version: String, _ manifest: String) throws {
        try Data(manifest.utf8).write(to: origin.appendingPathComponent("Package.swift"))
        _ = try git("add", "Package.swift")
        _ = try git("commit", "--quiet", "--allow-empty", "--message", version)
        _ = try git("tag", version)
    }

    /// git reads GRDB's address from the test's repository.
    private func run(_ arguments: String...) throws -> Command.Outcome {
        let settings = ["url.\(origin.path).insteadOf": "https://github.com/groue/GRDB.swift", "safe.directory": "*"]
        var environment = ["GIT_CONFIG_COUNT": "\(settings.count)", "GIT_CONFIG_GLOBAL": "/dev/null"]
        for (number, setting) in settings.enumerated() {
            environment["GIT_CONFIG_KEY_\(number)"] = setting.key
            environment["GIT_CONFIG_VALUE_\(number)"] = setting.value
        }
        return try Command.run(Repository.file("scripts/grdb").path, arguments, environment: environment)
    }

    private var target: URL { folder.url.appendingPathComponent("GRDB.swift") }

    private func written() throws -> String {
        try String(contentsOf: target.appendingPathComponent("Package.swift"), encoding: .utf8)
    }

    @Test func grdbForkUsesThisCheckout() throws {
        let outcome = try run(folder.url.path)
        try #require(outcome.status == 0, "\(outcome)")
        let path = try #require(try written().firstMatch(of: #/path: "(\.\.[^"]*)"/#).map { String($0.1) })
        #expect(try written() == Self.expected(#".package(name: "SQLCipherKit", path: "\#(path)")"#, "SQLCipherKit"))
        // Relative to GRDB's folder, the path leads here.
        let here = try Command.run("realpath", [target.appendingPathComponent(path).path, Repository.file("").path]).output.split(separator: "\n")
        #expect(here.count == 2 && here[0] == here[1])
        #expect(outcome.output.contains(#".product(name: "GRDB", package: "GRDB.swift")"#))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["GRDB.swift", "origin"])
    }

    @Test func grdbForkNamesEngineByURL() throws {
        let outcome = try run("--url", "https://example.com/me/Kit.git", "--from", "1.2.0", folder.url.path)
        try #require(outcome.status == 0, "\(outcome)")
        #expect(try written() == Self.expected(#".package(url: "https://example.com/me/Kit.git", from: "1.2.0")"#, "Kit"))
    }

    @Test func grdbForkIsReplacedOnlyIfUnchanged() throws {
        let elsewhere = Self.manifest.replacing("                providers: [.apt([\"libsqlite3-dev\"])]),\n", with: """
                            providers: [
                                .apt(["libsqlite3-dev"]),
                            ]
                        ),

            """)
        try release("7.11.0", elsewhere)
        #expect(try run(folder.url.path).status == 0)
        let first = try written()
        // Another version, whose manifest has the same steps over other lines.
        #expect(try run("--version", "7.11.0", folder.url.path).status == 0)
        #expect(try written() == first)
        try Data("mine".utf8).write(to: target.appendingPathComponent("mine.swift"))
        let refused = try run(folder.url.path)
        #expect(refused.status == 1 && refused.errors.contains("is not as this script has left it"), "\(refused)")
        #expect(FileManager.default.fileExists(atPath: target.appendingPathComponent("mine.swift").path))
    }

    @Test(arguments: [
        ("// GRDB+SQLCipher: Delete the GRDBSQLite dependency\n", ""),
        ("// GRDB+SQLCipher: Uncomment those lines", "// GRDB+SQLCipher: Rename those lines"),
        ("SQLCipher.swift", "Cipher.swift"),
        ("// GRDB+SQLCipher: ", "// "),
    ])
    func unexpectedGRDBManifestIsRefused(old: String, new: String) throws {
        try release("7.12.0", Self.manifest.replacing(old, with: new))
        let outcome = try run("--version", "7.12.0", folder.url.path)
        #expect(outcome.status == 1 && outcome.errors.hasPrefix("grdb: GRDB's manifest"), "\(outcome)")
        let missing = try run("--version", "0.1.0", folder.url.path)
        #expect(missing.status == 1 && missing.errors.hasPrefix("grdb: git clone"), "\(missing)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["origin"])
    }

    /// The article's lines are the lines that the script prints.
    @Test func grdbArticleMatchesScriptOutput() throws {
        let page = "Sources/SQLCipherKit/Documentation.docc/EngineUnderGRDB.md"
        let article = try String(contentsOf: Repository.file(page), encoding: .utf8)
        let script = try String(contentsOf: Repository.file("scripts/lib/grdb.py"), encoding: .utf8)
        let version = try #require(script.firstMatch(of: #/\nVERSION = "([\d.]+)"/#)).1
        #expect(article.contains("--version \(version)") && article.contains("GRDB \(version)"))
        let said = try run(folder.url.path).output
        for line in [#".product(name: "GRDB", package: "GRDB.swift"),"#] { #expect(said.contains(line) && article.contains(line)) }
    }
}
