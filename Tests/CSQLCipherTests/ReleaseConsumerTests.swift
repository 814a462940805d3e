import Foundation
import TestSupport
import Testing

/// The command that runs a program that sees no network but an interface that is down; nil where this machine does not allow it.
private let offline: [String]? = [["unshare", "--net"], ["unshare", "--net", "--map-root-user"]].first { command in
    let seen = try? Command.run(command[0], command.dropFirst() + ["cat", "/proc/net/dev"])
    return seen?.status == 0 && seen?.output.split(separator: "\n").filter { $0.contains(":") && !$0.contains("lo:") }.isEmpty == true
}

/// Packages that use a release, with the network off. They build the library from scratch, which takes some minutes.
@Suite(.enabled(if: testsReleases, "SQLCIPHERKIT_RELEASE_TESTS is not set, or this is no git checkout"),
       .enabled(if: offline != nil, "this machine gives no network namespace"))
struct ReleaseConsumerTests {
    /// The package Tests/Consumer in `folder`, with `dependency` for the one that its manifest names.
    private func consumer(in folder: URL, dependency: String) throws -> URL {
        let target = folder.appendingPathComponent("Consumer")
        try FileManager.default.copyItem(at: Repository.file("Tests/Consumer"), to: target)
        let manifest = target.appendingPathComponent("Package.swift")
        let text = try String(contentsOf: manifest, encoding: .utf8), placeholder = #".package(name: "SQLCipherKit", path: "../SQLCipherKit")"#
        try #require(text.contains(placeholder))
        try text.replacingOccurrences(of: placeholder, with: dependency).write(to: manifest, atomically: true, encoding: .utf8)
        return target
    }

    /// The article tells people to write what these tests write.
    private func expectInArticle(_ text: String) throws {
        let page = Repository.file("Sources/SQLCipherKit/Documentation.docc/AddingThePackage.md")
        #expect(try String(contentsOf: page, encoding: .utf8).contains(text), "\(text)")
    }

    /// SwiftPM as on a machine that has never seen a package: no caches, no mirrors, no settings of git. With `repositories`, a git
    /// server has those in that folder, on a loopback of its own.
    private func swift(_ arguments: String..., in package: URL, servedFrom repositories: URL? = nil) throws -> Command.Outcome {
        let home = package.deletingLastPathComponent().appendingPathComponent("home")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        let shell = """
            set -euo pipefail
            if [[ $2 ]]; then
                # SIOCSIFFLAGS with IFF_UP and IFF_RUNNING.
                python3 -c 'import fcntl, socket, struct
            fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 0x41))'
                "$(git --exec-path)/git-daemon" --base-path="$2" --export-all --listen=127.0.0.1 &
                # Processes that Foundation starts have SIGTERM blocked, and it waits until all have ended that hold its socket.
                trap 'kill -KILL $!' EXIT
                until git ls-remote git://127.0.0.1/Other-Name.git >/dev/null 2>&1; do sleep 0.1; done
            fi
            cd "$1"
            unset SQLCIPHERKIT_DEVELOPMENT
            # SwiftPM keeps the revision of each version that it has seen in the user's own home folder, whatever HOME is.
            swift "$3" --security-path "$HOME/security" "${@:4}"
            """
        let command = try #require(offline) + ["bash", "-c", shell, "bash", package.path, repositories?.path ?? ""] + arguments
        return try Command.run(command[0], Array(command.dropFirst()),
                               environment: ReleaseScriptTests.Checkout.environment.merging(["HOME": home.path, "XDG_CACHE_HOME": home.path]) { $1 })
    }

    /// The blocks of the article for newcomers, pasted in their order into an empty folder, as a reader would do it.
    @Test func tutorialCommandsWorkInEmptyFolder() throws {
        let page = "Sources/SQLCipherKit/Documentation.docc/GettingStarted.md"
        let article = try String(contentsOf: Repository.file(page), encoding: .utf8)
        let blocks = article.components(separatedBy: "\n```sh\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
        #expect(blocks.count == 3)
        let checkout = try ReleaseScriptTests.Checkout()
        try checkout.release()
        let folder = try TemporaryFolder()
        _ = try checkout.unpack(into: folder.url)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("SQLCipherKit-1.0.0"), withDestinationPath: "SQLCipherKit-\(releaseVersion)")
        let script = "set -e; unset SQLCIPHERKIT_DEVELOPMENT; cd \"$0\"\n" + blocks.joined(separator: "\n")
        let home = ["HOME": folder.path("home"), "XDG_CACHE_HOME": folder.path("home")]
        let run = try Command.run(
            try #require(offline)[0], try #require(offline).dropFirst() + ["bash", "-c", script, folder.path("")],
            environment: ReleaseScriptTests.Checkout.environment.merging(home) { $1 })
        try #require(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.hasSuffix("First we [bake], then we sell.\nThe file holds no plain text.\n"), "\(run.output)")
    }

    /// The blocks of the tool's first hour but for the set-up, pasted beside an unpacked release, with the tool of this build.
    @Test func toolArticleFirstHourCommandsWork() throws {
        let page = "Sources/SQLCipherKit/Documentation.docc/CommandLineTool.md"
        let article = try String(contentsOf: Repository.file(page), encoding: .utf8)
        let hour = try #require(article.components(separatedBy: "\n## A first hour\n").dropFirst().first?.components(separatedBy: "\n## ").first)
        let blocks = hour.components(separatedBy: "\n```sh\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
        #expect(blocks.count == 3)
        let checkout = try ReleaseScriptTests.Checkout()
        try checkout.release()
        let folder = try TemporaryFolder()
        _ = try checkout.unpack(into: folder.url)
        let repository = folder.path("SQLCipherKit"), tool = repository + "/.build/debug"
        try FileManager.default.moveItem(atPath: folder.path("SQLCipherKit-\(releaseVersion)"), toPath: repository)
        for path in [tool, folder.path("home/Documents")] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        try FileManager.default.createSymbolicLink(
            atPath: tool + "/sqlcipherkit", withDestinationPath: BuildProducts.executable("sqlcipherkit"))
        try Data("Bread needs flour.\n".utf8).write(to: URL(fileURLWithPath: folder.path("home/Documents/a.md")))
        let script = "set -e; unset SQLCIPHERKIT_DEVELOPMENT; cd \"$0\"\n" + blocks.joined(separator: "\n")
        let home = ["HOME": folder.path("home"), "XDG_CACHE_HOME": folder.path("home")]
        let run = try Command.run(
            try #require(offline)[0], try #require(offline).dropFirst() + ["bash", "-c", script, repository],
            environment: ReleaseScriptTests.Checkout.environment.merging(home) { $1 })
        try #require(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("1.  a.md  [Bread] needs flour.") && run.output.contains("1 hit\n"), "\(run.output)")
        #expect(run.output.contains("Mill & Sons  01067   42.5\nOven Ltd     10115    7.2\n"), "\(run.output)")
    }

    /// Depends on a version that was tagged in a fresh checkout, by its URL on a git server, and fetches nothing else. A program
    /// for each product builds without a warning and runs. The files are those of the archive. The repository has a name of its
    /// own, by which SwiftPM knows the package.
    @Test func releaseTagBuildsEachProductByURL() throws {
        let checkout = try ReleaseScriptTests.Checkout()
        try checkout.finishPages(for: "1.2.3")
        try checkout.release()
        try ReleaseScriptTests.Checkout.require(try checkout.run("1.2.3", "--tag"))
        let folder = try TemporaryFolder()
        let clone = ["clone", "--quiet", "--bare", checkout.root.path, folder.path("Other-Name.git")]
        try ReleaseScriptTests.Checkout.require(Command.run("git", clone, environment: ReleaseScriptTests.Checkout.environment))
        let package = try consumer(in: folder.url, dependency: #".package(url: "git://127.0.0.1/Other-Name.git", from: "1.2.3")"#)
        let manifest = package.appendingPathComponent("Package.swift")
        let text = try String(contentsOf: manifest, encoding: .utf8)
            .replacing("package: \"SQLCipherKit\"", with: "package: \"Other-Name\"")
        try Data(text.utf8).write(to: manifest)
        try expectInArticle(".package(url: \"<this repository>\", from: \"1.0.0\")")
        try expectInArticle("package: \"<last part of its URL>\"")
        let tagged = try String(contentsOf: checkout.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        for product in tagged.matches(of: #/\.library\(name: ("\w+")/#) {
            #expect(text.contains(product.1), "Tests/Consumer has no program with the product \(product.1)")
        }

        let build = try swift("build", in: package, servedFrom: folder.url)
        try #require(build.status == 0, "\(build.output)\(build.errors)")
        #expect(!(build.output + build.errors).contains("warning:"), "\(build.output)\(build.errors)")
        let sqlite = try #require(try Pins.load().upstream("SQLite").version)
        for (program, output) in [
            ("App", "First we [bake], then we sell.\n[\"bread\", \"plans\"]\nwrong key\n\(sqlite)\n"),
            ("Core", "one connection\n"), ("Sync", "[\"Foxes\"]\n"), ("Replication", "[\"Foxes\"]\n"), ("Vectors", "[2]\n"),
            ("Extension", "42\n"), ("Plain", "\(sqlite)\n"),
        ] {
            let run = try Command.run(package.appendingPathComponent(".build/debug/\(program)").path, [folder.path("\(program).db")])
            #expect(run.output == output, "\(program): \(run)")
            // An encrypted database begins with its salt.
            let file = try Data(contentsOf: folder.url.appendingPathComponent("\(program).db"))
            #expect(!file.starts(with: Data("SQLite".utf8)), "\(program)")
        }
        let checkouts = package.appendingPathComponent(".build/checkouts")
        #expect(try FileManager.default.contentsOfDirectory(atPath: checkouts.path) == ["Other-Name"])

        _ = try checkout.unpack(into: folder.url)
        let archived = folder.url.appendingPathComponent("SQLCipherKit-\(releaseVersion)").path
        let difference = try Command.run("diff", ["--recursive", "--no-dereference", "--exclude", ".git", "--exclude", "SQLCipherKit.spdx.json",
                                                  archived, checkouts.appendingPathComponent("Other-Name").path])
        #expect(difference.status == 0, "\(difference.output)")
    }

    /// swift-syntax is in the graph with the trait that has the macro, and only there: without it nothing is asked for.
    @Test func onlyMacrosTraitFetchesSwiftSyntax() throws {
        let checkout = try ReleaseScriptTests.Checkout()
        try checkout.release()
        for (traits, isFetched) in [("", false), (", traits: []", false), (", traits: [\"Macros\", .defaults]", true)] {
            let folder = try TemporaryFolder()
            _ = try checkout.unpack(into: folder.url)
            let path = "../SQLCipherKit-\(releaseVersion)"
            let package = try consumer(in: folder.url, dependency: ".package(name: \"SQLCipherKit\", path: \"\(path)\"\(traits))")
            let resolve = try swift("package", "resolve", in: package)
            #expect((resolve.status != 0) == isFetched, "\(traits): \(resolve.output)\(resolve.errors)")
            #expect((resolve.output + resolve.errors).contains("swift-syntax") == isFetched, "\(traits)")
        }
    }

    /// The guard of the guard: a package that has to fetch something does not build this way.
    @Test func consumerBuildHasNoNetwork() throws {
        let folder = try TemporaryFolder()
        let package = try consumer(in: folder.url, dependency: ".package(url: \"https://github.com/apple/swift-argument-parser\", from: \"1.8.2\")")
        #expect(try swift("package", "resolve", in: package).status != 0)
    }
}
