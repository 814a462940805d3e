import Foundation
import TestSupport
import Testing

/// The command that runs a program with a folder as its root; nil where this machine does not allow it.
private let inFolder: [String]? = [["chroot"], ["unshare", "--map-root-user", "chroot"]].first { command in
    (try? Command.run(command[0], command.dropFirst() + ["/", "true"]))?.status == 0
}

/// Programs that are linked statically, run in a folder with no other file as their root.
@Suite(.enabled(if: testsReleases && LongTests.areOn, "SQLCIPHERKIT_RELEASE_TESTS or SQLCIPHERKIT_LONG_TESTS is not set"),
       .enabled(if: inFolder != nil, "only root can change a program's root folder on this machine"))
struct StaticToolTests {
    /// An empty folder and how to call a program in it.
    struct Root {
        let folder: TemporaryFolder
        let name: String

        init(_ program: URL) throws {
            folder = try TemporaryFolder()
            name = program.lastPathComponent
            try FileManager.default.copyItem(at: program, to: folder.url.appendingPathComponent(name))
        }

        func write(_ text: String, to file: String) throws {
            try Data(text.utf8).write(to: folder.url.appendingPathComponent(file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path(file))
        }

        func run(_ arguments: String..., before: [String] = [], in environment: [String: String] = [:]) throws -> Command.Outcome {
            let command = before + (try #require(inFolder)) + [folder.path(""), "/\(name)"] + arguments
            return try Command.run(command[0], Array(command.dropFirst()), environment: environment)
        }

        func runWithProc(_ argument: String) throws -> Command.Outcome {
            try FileManager.default.createDirectory(at: folder.url.appendingPathComponent("proc"), withIntermediateDirectories: true)
            return try run(argument, before: ["unshare", "--fork", "--pid", "--mount", "--mount-proc=\(folder.path("proc"))"])
        }
    }

    @Test func staticToolOfReleaseRunsAlone() throws {
        let checkout = try ReleaseScriptTests.Checkout()
        try ReleaseScriptTests.Checkout.require(try checkout.run(releaseVersion, "--tool", "--output", checkout.output.path))
        let check = try Command.run("bash", ["-c", "cd \"$0\" && sha256sum --check --strict SHA256SUMS", checkout.output.path])
        #expect(check.status == 0 && check.output.split(separator: "\n").count == 3, "\(check)")

        let machine = try Command.run("uname", ["-m"]).output.trimmingCharacters(in: .newlines)
        let name = "sqlcipherkit-\(releaseVersion)-linux-\(machine)"
        let unpacked = checkout.folder.url
        let archive = checkout.output.appendingPathComponent("\(name).tar.bz2").path
        try ReleaseScriptTests.Checkout.require(try Command.run("tar", ["--extract", "--file", archive, "--directory", unpacked.path]))
        let inside = unpacked.appendingPathComponent(name)
        #expect(try FileManager.default.contentsOfDirectory(atPath: inside.path).sorted()
                == ["LICENSE", "NOTICE.md", "Vendor", "sqlcipherkit"])
        try checkTool(inside.appendingPathComponent("sqlcipherkit"))
    }

    /// A database made, filled, searched and read with no file but the program, the key and the data, and no /proc.
    private func checkTool(_ program: URL) throws {
        let root = try Root(program)
        let version = try root.run("version")
        #expect(version.status == 0 && version.output.contains("encryption, FTS5"), "\(version)")
        try root.write("correct horse\n", to: "key")
        try root.write("name,city\nAda,London\nGrace,New York\n", to: "people.csv")
        try FileManager.default.createDirectory(at: root.folder.url.appendingPathComponent("texts"), withIntermediateDirectories: true)
        try root.write("First we bake bread.\n", to: "texts/plans.txt")
        for source in ["people.csv", "texts"] {
            let imported = try root.run("import", "notes.db", source, "--key-file", "key")
            #expect(imported.status == 0, "\(imported)")
        }
        let rows = try root.run("query", "/notes.db", "SELECT name FROM people ORDER BY name DESC", "--key-file", "/key", "--format", "csv")
        #expect(rows.output.split(whereSeparator: \.isNewline).map(String.init) == ["name", "Grace", "Ada"], "\(rows)")
        #expect(try root.run("search", "/notes.db", "baking", "--key-file", "/key").output.contains("bake"))
        #expect(try root.run("verify", "/notes.db", "--key-file", "/key").status == 0)
        #expect(try root.run("query", "/notes.db", "SELECT 1", "--no-key").status == 3, "it is encrypted")
        #expect(try root.run("query", "/notes.db", "SELECT 1", "--raw").status == 64, "the arguments are those that were given")
        #expect(!(try Data(contentsOf: root.folder.url.appendingPathComponent("notes.db")).contains(Data("London".utf8))))
    }

    /// The article's statements about a user's own program: the command, and the behavior without /proc.
    @Test func staticConsumerProgramRunsAlone() throws {
        let page = Repository.file("Sources/SQLCipherKit/Documentation.docc/AddingThePackage.md")
        #expect(try String(contentsOf: page, encoding: .utf8).contains("swift build -c release --static-swift-stdlib \\\n    -Xswiftc -static-executable\n"))
        // In debug, which takes a third of the time and is linked in the same way.
        let root = try consumer("swift build --product App --static-swift-stdlib -Xswiftc -static-executable")
        let bare = try root.run("/notes.db")
        #expect(bare.status != 0 && bare.errors.contains("Unable to obtain Swift runtime path"), "\(bare)")
        let run = try root.runWithProc("/notes.db")
        #expect(run.output.hasPrefix("First we [bake], then we sell.\n"), "\(run)")
    }

    /// A program that is compiled as in the first stage of the article's Dockerfile runs in a folder with the libraries of the base
    /// image and of the packages that its second stage installs, and misses those of the packages without them.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/var/lib/dpkg/status"), "this machine has no packages of Debian"))
    func dockerfileStepsGiveProgramThatRunsAlone() throws {
        let page = Repository.file("Sources/SQLCipherKit/Documentation.docc/OnAServer.md")
        let text = try String(contentsOf: page, encoding: .utf8).replacing(#/\\\n */#, with: "")
        let file = try #require(text.firstMatch(of: #/```dockerfile\n([^`]+)\nFROM debian:bookworm-slim\n([^`]+)```/#))
        let step = try #require(file.1.firstMatch(of: #/\nRUN (swift build .+)/#)).1
        let packages = try #require(file.2.firstMatch(of: #/--no-install-recommends ([a-z0-9 -]+) &&/#)).1.split(separator: " ").map(String.init)
        let root = try consumer(step.replacing(" -c release", with: " --product App"))
        let copy = """
            set -euo pipefail
            apt-cache depends --recurse --important "${@:2}" | grep -E '^[a-z]' | sort -u | while read -r package; do
                dpkg -L "$package" 2>/dev/null | grep -E '^(/usr)?/lib(64)?/[^/]+(/[^/]+)?$' | grep -F .so || true
            done | while read -r library; do mkdir -p "$1${library%/*}" && cp --archive "$library" "$1$library"; done
            """
        func install(_ packages: [String]) throws {
            let copied = try Command.run("bash", ["-c", copy, "bash", root.folder.path("")] + packages)
            try #require(copied.status == 0, "\(copied)")
        }
        // Of what the base image has, the C and C++ libraries; dpkg needs zlib.
        try install(["libc6", "libstdc++6", "zlib1g"])
        let bare = try root.runWithProc("/notes.db")
        #expect(bare.status == 127 && bare.errors.contains("libtomcrypt.so.1"), "\(bare)")
        try install(packages)
        let run = try root.runWithProc("/notes.db")
        #expect(run.output.hasPrefix("First we [bake], then we sell.\n"), "\(run)")
    }

    /// The program of Tests/Consumer, built by a command, in an empty folder.
    private func consumer(_ command: some StringProtocol) throws -> Root {
        let folder = try TemporaryFolder()
        let package = folder.url.appendingPathComponent("Consumer")
        try FileManager.default.copyItem(at: Repository.file("Tests/Consumer"), to: package)
        let manifest = package.appendingPathComponent("Package.swift")
        let text = try String(contentsOf: manifest, encoding: .utf8)
        try Data(text.replacing("\"../SQLCipherKit\"", with: "\"\(Repository.root.path)\"").utf8).write(to: manifest)
        let build = try Command.run("bash", ["-c", "cd \"$0\" && unset SQLCIPHERKIT_DEVELOPMENT && \(command)", package.path])
        try #require(build.status == 0, "\(build.output)\(build.errors)")
        return try Root(package.appendingPathComponent(".build/debug/App"))
    }
}
