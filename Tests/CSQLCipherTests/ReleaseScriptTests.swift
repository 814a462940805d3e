import Foundation
import TestSupport
import Testing

/// The version of the releases of these tests.
let releaseVersion = "1.2.3-beta.4"

/// Releases are the same whatever the tests are compiled as: scripts/test asks for their tests once, by an environment variable.
let testsReleases = ProcessInfo.processInfo.environment["SQLCIPHERKIT_RELEASE_TESTS"] != nil
    && FileManager.default.fileExists(atPath: Repository.file(".git").path)

/// `scripts/release`, run in git checkouts of its own that hold the files of this one.
@Suite(.enabled(if: testsReleases, "SQLCIPHERKIT_RELEASE_TESTS is not set, or this is no git checkout")) struct ReleaseScriptTests {
    struct Checkout {
        let folder: TemporaryFolder
        let root: URL

        var output: URL { folder.url.appendingPathComponent("output") }

        /// The files of this checkout, committed or not, as one commit: what is tested is what will be committed.
        init() throws {
            folder = try TemporaryFolder()
            root = folder.url.appendingPathComponent("SQLCipherKit")
            let shell = """
                set -euo pipefail
                mkdir "$2"
                cd "$1"
                git -c safe.directory='*' ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
                    [[ -e $file || -L $file ]] && printf '%s\\0' "$file"
                done | tar --null --files-from - --create | tar --extract --directory "$2"
                cp -R Vendor/sqlcipher "$2/Vendor/"
                cd "$2"
                git init --quiet --initial-branch main
                git config user.name Tester && git config user.email tester@example.invalid
                git add --all && git commit --quiet --message "All of it"
                """
            try Self.require(Command.run("bash", ["-c", shell, "bash", Repository.root.path, root.path], environment: Self.environment))
        }

        /// Another checkout of the same commit, made with another file mode mask.
        init(cloneOf other: Checkout, umask: String) throws {
            folder = try TemporaryFolder()
            root = folder.url.appendingPathComponent("another name")
            let shell = """
                umask \(umask)
                git clone --quiet "$1" "$2" && cp -R "$1/Vendor/sqlcipher" "$2/Vendor/"
                """
            try Self.require(Command.run("bash", ["-c", shell, "bash", other.root.path, root.path], environment: Self.environment))
        }

        /// git without any settings.
        static var environment: [String: String] { ["GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"] }

        static func require(_ outcome: Command.Outcome) throws { try #require(outcome.status == 0, "\(outcome.errors)") }

        func run(_ arguments: String..., in environment: [String: String] = [:]) throws -> Command.Outcome {
            try Command.run(root.appendingPathComponent("scripts/release").path, arguments,
                            environment: Self.environment.merging(environment) { $1 })
        }

        func release() throws {
            try Self.require(try run(releaseVersion, "--output", output.path))
        }

        /// Commits the pages as a release of `version` has them, which CONTRIBUTING.md asks for first.
        func finishPages(for version: String) throws {
            for (page, edit) in [("CHANGELOG.md", "0,/^## .*/s//## \(version) - 2026-01-31/"), ("README.md", "s/, unreleased//")] {
                try Self.require(Command.run("sed", ["-i", edit, root.appendingPathComponent(page).path]))
            }
            _ = try git("commit", "--quiet", "--all", "--message", version)
        }

        func git(_ arguments: String...) throws -> String {
            let outcome = try Command.run("git", ["-C", root.path] + arguments, environment: Self.environment)
            try Self.require(outcome)
            return outcome.output.trimmingCharacters(in: .newlines)
        }

        /// The archive's files by their paths inside, and what `python3` tells of each.
        func unpack(into target: URL) throws -> String {
            let code = """
                import sys, tarfile
                with tarfile.open(sys.argv[1]) as archive:
                    for entry in archive.getmembers():
                        print(oct(entry.mode), entry.type.decode(), entry.uid, entry.gid, entry.mtime,
                              repr(entry.uname + entry.gname), entry.name)
                    archive.extractall(sys.argv[2])
                """
            let archive = output.appendingPathComponent("SQLCipherKit-\(releaseVersion).tar.bz2").path
            let outcome = try Command.run("python3", ["-c", code, archive, target.path])
            try Self.require(outcome)
            return outcome.output
        }
    }

    private func files(_ folder: URL) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
    }

    /// Two folders, two time zones, two masks, two locales, two home folders: the same bytes.
    @Test func releaseArchiveIsReproducible() throws {
        let first = try Checkout(), second = try Checkout(cloneOf: first, umask: "077")
        try "not committed".write(to: second.root.appendingPathComponent("stray.txt"), atomically: true, encoding: .utf8)
        let script = "umask $0; exec \"$@\""
        for (checkout, mask, more) in [
            (first, "002", ["TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": first.folder.url.path]),
            (second, "077", ["TZ": "America/Los_Angeles", "LC_ALL": "tr_TR.UTF-8", "SOURCE_DATE_EPOCH": "1", "PYTHONHASHSEED": "7"]),
        ] {
            let arguments = [checkout.root.appendingPathComponent("scripts/release").path, releaseVersion, "--output", checkout.output.path]
            try Checkout.require(Command.run("bash", ["-c", script, mask] + arguments,
                                             environment: Checkout.environment.merging(more) { $1 }))
        }
        let made = try files(first.output)
        #expect(made.keys.sorted() == ["SHA256SUMS", "SQLCipherKit-\(releaseVersion).spdx.json", "SQLCipherKit-\(releaseVersion).tar.bz2"])
        #expect(try files(second.output) == made)

        let check = try Command.run("bash", ["-c", "cd \"$0\" && sha256sum --check --strict SHA256SUMS", first.output.path])
        #expect(check.status == 0 && check.output.split(separator: "\n").count == 2, "\(check)")
    }

    @Test func releaseHasExpectedFilesBillAndTag() throws {
        let checkout = try Checkout()
        try checkout.release()
        try checkFiles(of: checkout)
        try checkBill(of: checkout)
        try checkTag(of: checkout)
    }

    private func checkFiles(of checkout: Checkout) throws {
        let target = checkout.folder.url.appendingPathComponent("unpacked")
        let listing = try checkout.unpack(into: target).split(separator: "\n").map { $0.split(separator: " ", maxSplits: 6) }
        let time = try checkout.git("show", "--no-patch", "--format=%ct", "HEAD")
        let names = listing.map { String($0.last ?? "") }
        #expect(names.map { Array($0.utf8) } == names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
        for entry in listing {
            #expect(["0o644 0", "0o755 0", "0o777 2"].contains("\(entry[0]) \(entry[1])"), "\(entry)")
            #expect(entry[2] == "0" && entry[3] == "0" && entry[4] == time && entry[5] == "''", "\(entry)")
        }
        let root = target.appendingPathComponent("SQLCipherKit-\(releaseVersion)")
        func text(_ path: String) throws -> String { try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8) }

        let notices = ["LICENSE", "NOTICE.md", "Vendor/sqlcipher/LICENSE.SQLCipher", "Vendor/sqlcipher/LICENSE.SQLite",
                       "Vendor/sqlcipher/LICENSE.LibTomCrypt"]
        for path in notices { #expect(try !text(path).isEmpty) }
        #expect(try text("Vendor/sqlcipher/LICENSE.LibTomCrypt").contains("1.18.2 or newer"), "the notice is not this machine's")
        #expect(!FileManager.default.fileExists(atPath: root.appendingPathComponent(".ci").path))
        // The unpacked engine is in order by the script's own judgement, and nothing has to be fetched.
        let vendor = try Command.run(root.appendingPathComponent("scripts/vendor").path, ["--check"])
        #expect(vendor.status == 0, "\(vendor.errors)")
        for (environment, hasTool) in [("env -u SQLCIPHERKIT_DEVELOPMENT", false), ("env SQLCIPHERKIT_DEVELOPMENT=1", true)] {
            let shell = "cd \"$0\" && exec \(environment) swift package dump-package"
            let manifest = try Command.run("bash", ["-c", shell, root.path])
            try #require(manifest.status == 0, "\(manifest.errors)")
            #expect(manifest.output.contains("swift-argument-parser") == hasTool && manifest.output.contains("SQLCipherKitCLI") == hasTool)
        }
        #expect(try text("SQLCipherKit.spdx.json")
                == String(contentsOf: checkout.output.appendingPathComponent("SQLCipherKit-\(releaseVersion).spdx.json"), encoding: .utf8))
    }

    struct Bill: Decodable {
        struct Sum: Decodable, Equatable { let algorithm: String, checksumValue: String }
        struct Reference: Decodable { let referenceLocator: String }
        struct Package: Decodable {
            let SPDXID: String, name: String, versionInfo: String, downloadLocation: String, licenseDeclared: String
            let checksums: [Sum]?, externalRefs: [Reference]?
        }
        struct File: Decodable { let fileName: String, checksums: [Sum] }
        struct Relationship: Decodable { let spdxElementId: String, relationshipType: String, relatedSpdxElement: String }
        let spdxVersion: String, packages: [Package], files: [File], relationships: [Relationship]
    }

    /// Every upstream of the pins, and the package itself: with its version, licence and sum, and every member of the archive.
    private func checkBill(of checkout: Checkout) throws {
        let data = try Data(contentsOf: checkout.output.appendingPathComponent("SQLCipherKit-\(releaseVersion).spdx.json"))
        let bill = try JSONDecoder().decode(Bill.self, from: data), pins = try Pins.load()
        #expect(bill.spdxVersion == "SPDX-2.3")
        #expect(bill.packages.map(\.name) == ["SQLCipherKit"] + pins.upstreams.map(\.name))
        #expect(bill.packages.first?.versionInfo == releaseVersion)
        for (package, upstream) in zip(bill.packages.dropFirst(), pins.upstreams) {
            #expect(package.licenseDeclared == upstream.licence)
            #expect(package.versionInfo == upstream.cipherVersion ?? upstream.version ?? "\(upstream.minimumVersion ?? "") or newer")
            #expect(package.downloadLocation == "NOASSERTION")
            let locators = package.externalRefs?.map(\.referenceLocator) ?? []
            #expect(locators.first?.hasPrefix(try #require(upstream.purl)) == true)
            #expect((upstream.carriers ?? []).allSatisfy { locators.contains($0.purl) })
            let version = upstream.version ?? upstream.minimumVersion ?? ""
            if let cpe = upstream.cpe { #expect(locators.contains("\(cpe):\(version):*:*:*:*:*:*:*")) }
            #expect(bill.relationships.contains { [$0.spdxElementId, $0.relatedSpdxElement].contains(package.SPDXID) })
        }
        let folders = pins.upstreams.flatMap { upstream in (upstream.members ?? []).map { _ in upstream.folder.map { $0 + "/" } ?? "" } }
        let members = pins.upstreams.flatMap { $0.members ?? [] }
        #expect(bill.files.map(\.fileName) == zip(folders, members).map { "./Vendor/sqlcipher/\($0)\($1.file)" })
        for (file, member) in zip(bill.files, members) {
            #expect(file.checksums.contains(Bill.Sum(algorithm: "SHA256", checksumValue: member.installed)))
        }
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.matches(of: /[a-z+]+:\/\/[^"]*/).allSatisfy { $0.output.hasPrefix("https://spdx.org/spdxdocs/") }, "no host is named")
        // The pins and the manifest name the same packages, and versions.
        let manifest = try String(contentsOf: Repository.file("Package.swift"), encoding: .utf8)
        let packages = manifest.matches(of: /\.package\(url: "[^"]+\/([^"\/]+)", (?:from: )?"([\d.]+)"/).map { "\($0.1) \($0.2)" }
        #expect(!packages.isEmpty)
        let pinned = pins.upstreams.filter { $0.kind == "Swift package" }.map { "\($0.name) \($0.minimumVersion ?? "")" }
        #expect(packages.sorted() == pinned.sorted())
    }

    @Test func invalidReleaseIsRefused() throws {
        let checkout = try Checkout()
        for version in ["1.2", "v1.2.3", "1.2.3.4", "01.2.3", "../1.2.3", ""] {
            #expect(try checkout.run(version).status == 2, "\(version)")
        }
        let engine = checkout.root.appendingPathComponent("Vendor/sqlcipher/sqlite3.h")
        let original = try Data(contentsOf: engine)
        try (original + Data(" ".utf8)).write(to: engine)
        expectOneLine(try checkout.run(releaseVersion, "--output", checkout.output.path), saying: "Vendor/sqlcipher/sqlite3.h", "SHA-256")
        expectOneLine(try checkout.run(releaseVersion, "--tag"), saying: "Vendor/sqlcipher/sqlite3.h", "SHA-256")
        try FileManager.default.removeItem(at: engine)
        expectOneLine(try checkout.run(releaseVersion), saying: "sqlite3.h is missing", "./scripts/vendor")
        try original.write(to: engine)

        let readme = checkout.root.appendingPathComponent("README.md")
        let text = try Data(contentsOf: readme)
        try (text + Data(" ".utf8)).write(to: readme)
        expectOneLine(try checkout.run(releaseVersion), saying: "README.md is changed and not committed")
        expectOneLine(try checkout.run(releaseVersion, "--tag"), saying: "README.md is changed and not committed")
        try text.write(to: readme)

        // A release's pages say that it is one. A pre-release, as above and below, may come from any commit.
        try checkout.finishPages(for: "9.9.7")
        let changelog = checkout.root.appendingPathComponent("CHANGELOG.md")
        let changes = try String(contentsOf: changelog, encoding: .utf8)
        func commit(_ heading: String, _ security: String) throws {
            try changes.replacing(#/(?m)^## .+$/#, with: heading, maxReplacements: 1)
                .write(to: changelog, atomically: true, encoding: .utf8)
            let page = checkout.root.appendingPathComponent("SECURITY.md")
            try "\(security)\n".write(to: page, atomically: true, encoding: .utf8)
            _ = try checkout.git("commit", "--quiet", "--all", "--message", heading)
        }
        try commit("## 9.9.9 - unreleased", "Every release gets fixes.")
        expectOneLine(try checkout.run("9.9.9"), saying: "CHANGELOG.md", "'9.9.9 - unreleased'")
        try commit("## 9.9.8 - 2026-01-31", "Every release gets fixes.")
        expectOneLine(try checkout.run("9.9.9", "--tag"), saying: "CHANGELOG.md", "'9.9.8 - 2026-01-31'")
        try commit("## 9.9.9 - 2026-01-31", "Version 9.9.9 is not released yet.")
        expectOneLine(try checkout.run("9.9.9"), saying: "SECURITY.md:1 says 'not released'")

        // The archive does not fit under the limit: write(2) fails half-way.
        let arguments = [checkout.root.appendingPathComponent("scripts/release").path, releaseVersion, "--output", checkout.output.path]
        let full = try Command.run("bash", ["-c", "ulimit -f 500; exec \"$@\"", "bash"] + arguments, environment: Checkout.environment)
        expectOneLine(full, saying: "File too large")
        #expect(try files(checkout.output).isEmpty)
        #expect(try checkout.git("for-each-ref", "--format=%(refname)") == "refs/heads/main")

        try FileManager.default.removeItem(at: checkout.root.appendingPathComponent(".git"))
        expectOneLine(try checkout.run(releaseVersion), saying: "not a git", "checkout")
    }

    /// The commit has the archive's files, is the same when it is made again, and touches neither branch nor working tree.
    private func checkTag(of checkout: Checkout) throws {
        let head = try checkout.git("rev-parse", "HEAD")
        try Checkout.require(try checkout.run(releaseVersion, "--commit"))
        #expect(try checkout.git("tag", "--list") == "")
        let commit = try checkout.git("rev-parse", "release/\(releaseVersion)")
        try Checkout.require(try checkout.run(releaseVersion, "--tag"))
        #expect(try checkout.git("rev-parse", "\(releaseVersion)^{commit}") == commit)
        #expect(try checkout.git("rev-parse", "\(releaseVersion)^") == head)
        #expect(try checkout.git("rev-parse", "--abbrev-ref", "HEAD") == "main")
        #expect(try checkout.git("rev-parse", "HEAD") == head)
        #expect(try checkout.git("status", "--porcelain") == "")
        expectOneLine(try checkout.run(releaseVersion, "--tag"), saying: "the tag \(releaseVersion) already exists")

        let worktree = checkout.folder.url.appendingPathComponent("tagged").path
        _ = try checkout.git("worktree", "add", "--quiet", "--detach", worktree, releaseVersion)
        let archived = checkout.folder.url.appendingPathComponent("unpacked/SQLCipherKit-\(releaseVersion)").path
        let difference = try Command.run("diff", ["--recursive", "--no-dereference", "--exclude", ".git", archived, worktree])
        #expect(difference.status == 0, "\(difference.output)")
    }
}
