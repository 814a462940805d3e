import Foundation
import TestSupport
import Testing

/// `scripts/vendor`, run in copies of the package that hold nothing but the script and the pins.
@Suite(.enabled(if: LongTests.areOn, "scripts/vendor and Vendor alone change it: ./scripts/test --part releases"))
struct VendorScriptTests {
    /// The first carrier of the pins, which has an archive.
    static func carrier() throws -> (file: String, sha256: String, bytes: Int) {
        let carrier = try #require(try Pins.load().upstream("SQLCipher").carriers?.first)
        return (try #require(carrier.file), try #require(carrier.sha256), try #require(carrier.bytes))
    }

    /// The folder that `--from` takes: of the archive, or a tree if the first carrier is one, which has no archive.
    static func source() throws -> String {
        guard try Pins.load().upstream("SQLCipher").carriers?.first?.kind == "tree" else {
            return try archive().deletingLastPathComponent().path
        }
        return try #require(
            ProcessInfo.processInfo.environment["SQLCIPHERKIT_TEST_TREE"],
            "the engine is pinned from a tree: SQLCIPHERKIT_TEST_TREE must name it")
    }

    /// The verified archive that scripts/test has put into the cache.
    static func archive() throws -> URL {
        let environment = ProcessInfo.processInfo.environment
        let name = try Self.carrier().file
        let home = environment["HOME"] ?? ""
        let places = [
            environment["SQLCIPHERKIT_TEST_ARCHIVE"],
            environment["SQLCIPHERKIT_CACHE"].map { "\($0)/\(name)" },
            environment["XDG_CACHE_HOME"].map { "\($0)/sqlcipherkit/\(name)" },
            "\(home)/.cache/sqlcipherkit/\(name)",
        ].compactMap(\.self)
        let place = try #require(places.first { FileManager.default.fileExists(atPath: $0) },
                                 "the archive is not in the cache; run ./scripts/vendor --fetch or ./scripts/test")
        return URL(fileURLWithPath: place)
    }

    /// A copy of the package, small enough to be broken.
    struct Copy {
        let folder: TemporaryFolder
        let archive: URL

        var vendor: URL { folder.url.appendingPathComponent("Vendor") }
        var engine: URL { vendor.appendingPathComponent("sqlcipher") }
        var script: String { folder.url.appendingPathComponent("scripts/vendor").path }
        var cache: URL { folder.url.appendingPathComponent("cache") }
        /// A cache of its own, and an index that does not answer: nothing here can reach a network.
        var environment: [String: String] {
            ["SQLCIPHERKIT_CACHE": cache.path, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": "/dev/null",
             "PIP_FIND_LINKS": "", "PIP_RETRIES": "1"]
        }

        init() throws {
            folder = try TemporaryFolder()
            let files = FileManager.default
            for path in ["scripts/vendor", "scripts/lib/vendor.py", "scripts/lib/carriers.py", "scripts/lib/engine_table.py", "scripts/lib/patches.py",
                         "scripts/lib/download-requirements.txt", "Vendor/pins.json", "Vendor/patches",
                         "Sources/CSQLCipher/Engine/ENGINE.md"] {
                let target = folder.url.appendingPathComponent(path)
                try files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                try files.copyItem(at: Repository.file(path), to: target)
            }
            let original = try VendorScriptTests.archive()
            let shelf = folder.url.appendingPathComponent("archives")
            try files.createDirectory(at: shelf, withIntermediateDirectories: true)
            archive = shelf.appendingPathComponent(original.lastPathComponent)
            try files.copyItem(at: original, to: archive)
            for other in try Pins.load().upstreams where other.folder != nil {
                let name = try #require(other.carriers?.first?.file)
                try files.copyItem(at: original.deletingLastPathComponent().appendingPathComponent(name), to: shelf.appendingPathComponent(name))
            }
        }

        /// Puts the archives into the cache. Returns the path of SQLCipher's.
        func fillCache() throws -> URL {
            try FileManager.default.copyItem(at: archive.deletingLastPathComponent(), to: cache)
            return cache.appendingPathComponent(archive.lastPathComponent)
        }

        func start(_ arguments: String...) throws -> Command {
            try Command(script, arguments, environment: environment)
        }

        func run(_ arguments: String...) throws -> Command.Outcome {
            try Command.run(script, arguments, environment: environment)
        }

        func unpack() throws {
            let outcome = try run("--from", archive.deletingLastPathComponent().path)
            try #require(outcome.status == 0, "\(outcome.errors)")
        }

        /// The names in Vendor, hidden ones too, but for what was there before the first run.
        func leftovers() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: vendor.path).filter { !["pins.json", "patches"].contains($0) }.sorted()
        }

        func changeByte(of file: URL, at offset: Int) throws -> Data {
            let original = try Data(contentsOf: file)
            var changed = original
            changed[offset] ^= 1
            try changed.write(to: file)
            return original
        }
    }

    @Test func vendorUnpacksPinnedFilesOffline() throws {
        let copy = try Copy()
        try copy.unpack()
        for upstream in try Pins.load().upstreams {
            let folder = upstream.folder.map(copy.engine.appendingPathComponent) ?? copy.engine
            for member in upstream.members ?? [] { #expect(try sum(folder.appendingPathComponent(member.file)) == member.installed) }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: copy.engine.path).sorted()
        #expect(names == ["LICENSE.LibTomCrypt", "LICENSE.SQLCipher", "LICENSE.SQLite", "SHA256SUMS",
                          "snowball", "sqlite3.c", "sqlite3.h", "symbols.h"])
        let notice = try String(contentsOf: copy.engine.appendingPathComponent("LICENSE.SQLCipher"), encoding: .utf8)
        #expect(notice.contains("ZETETIC LLC") && notice.contains("Redistributions in binary form"))
        let blessing = try String(contentsOf: copy.engine.appendingPathComponent("LICENSE.SQLite"), encoding: .utf8)
        #expect(blessing.contains("May you do good and not evil."))
        #expect(try copy.leftovers() == ["sqlcipher"])
        #expect(!FileManager.default.fileExists(atPath: copy.cache.path), "--from keeps away from the cache")
        #expect(try copy.run("--check").status == 0)
    }

    /// The engine that these tests were compiled with, and a fresh one, have the very same list of symbols.
    @Test func symbolListIsReproducible() throws {
        let copy = try Copy()
        try copy.unpack()
        let first = try Data(contentsOf: copy.engine.appendingPathComponent("symbols.h"))
        try FileManager.default.removeItem(at: copy.engine)
        try copy.unpack()
        #expect(try Data(contentsOf: copy.engine.appendingPathComponent("symbols.h")) == first)
        #expect(try Data(contentsOf: Repository.file("Vendor/sqlcipher/symbols.h")) == first)
    }

    @Test func secondVendorRunChangesNothing() throws {
        func times(_ copy: Copy) throws -> [String: Date] {
            var times: [String: Date] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: copy.engine.path) + ["."] {
                let path = copy.engine.appendingPathComponent(name).path
                times[name] = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            }
            return times
        }
        let copy = try Copy()
        try copy.unpack()
        let before = try times(copy)
        #expect(before.count == 9)
        try FileManager.default.removeItem(at: copy.archive)
        let second = try copy.run()
        #expect(second.status == 0 && second.errors.isEmpty && second.output.contains("verified"))
        #expect(try times(copy) == before)
    }

    @Test(arguments: [10, 1_000_000, -1])
    func changedArchiveByteIsRefused(at offset: Int) throws {
        let copy = try Copy()
        let pinned = try Self.carrier()
        _ = try copy.changeByte(of: copy.archive, at: offset < 0 ? pinned.bytes - 1 : offset)
        let outcome = try copy.run("--from", copy.archive.deletingLastPathComponent().path)
        expectOneLine(outcome, saying: pinned.file, pinned.sha256, try sum(copy.archive))
        #expect(try copy.leftovers() == [])
    }

    /// The archive in the cache is looked at again each time that it is used.
    @Test func changedCacheByteIsRefused() throws {
        let copy = try Copy()
        let cached = try copy.fillCache()
        let original = try copy.changeByte(of: cached, at: 2_000_000)
        expectOneLine(try copy.run(), saying: "cache/\(cached.lastPathComponent)", try sum(cached))
        expectOneLine(try copy.run("--fetch"), saying: "cache/\(cached.lastPathComponent)", try sum(cached))
        #expect(try copy.leftovers() == [])

        try original.write(to: cached)
        #expect(try copy.run("--fetch").output == cached.path + "\n")
        #expect(try copy.run().status == 0)
    }

    @Test(arguments: LongTests.sample(2, of: ["sqlite3.c", "sqlite3.h", "symbols.h", "LICENSE.SQLCipher", "LICENSE.LibTomCrypt", "snowball/COPYING"]))
    func changedUnpackedByteIsReported(_ name: String) throws {
        let copy = try Copy()
        try copy.unpack()
        let file = copy.engine.appendingPathComponent(name)
        let expected = try sum(file)
        let original = try copy.changeByte(of: file, at: 100)
        let changed = try Data(contentsOf: file)
        expectOneLine(try copy.run("--check"), saying: "Vendor/sqlcipher/\(name)", expected, try sum(file))
        expectOneLine(try copy.run(), saying: "Vendor/sqlcipher/\(name)", expected, try sum(file))
        #expect(try Data(contentsOf: file) == changed, "a failed run changes nothing")

        try original.write(to: file)
        #expect(try copy.run("--check").status == 0)
    }

    /// A list of symbols that agrees with SHA256SUMS but not with the source is caught, and made again.
    @Test func forgedSymbolListIsRegenerated() throws {
        let copy = try Copy()
        try copy.unpack()
        let list = copy.engine.appendingPathComponent("symbols.h"), sums = copy.engine.appendingPathComponent("SHA256SUMS")
        let good = try Data(contentsOf: list), before = try sum(list)
        try (good + Data("\n".utf8)).write(to: list)
        let text = try String(contentsOf: sums, encoding: .utf8)
        try text.replacingOccurrences(of: before, with: try sum(list)).write(to: sums, atomically: true, encoding: .utf8)

        expectOneLine(try copy.run("--check"), saying: "symbols.h", "./scripts/vendor")
        try copy.unpack()
        #expect(try Data(contentsOf: list) == good)
    }

    @Test func missingFileIsPutBack() throws {
        let copy = try Copy()
        try copy.unpack()
        try FileManager.default.removeItem(at: copy.engine.appendingPathComponent("sqlite3.h"))
        expectOneLine(try copy.run("--check"), saying: "sqlite3.h", "missing")
        try copy.unpack()
        #expect(try copy.run("--check").status == 0)
        #expect(try copy.leftovers() == ["sqlcipher"])
    }

    @Test func missingEngineFailsVendorCheck() throws {
        let copy = try Copy()
        expectOneLine(try copy.run("--check"), saying: "Vendor/sqlcipher is missing", "./scripts/vendor")
        expectOneLine(try copy.run("--from", copy.folder.url.appendingPathComponent("nowhere").path),
                      saying: "nowhere", "No such file or directory")
        #expect(try copy.leftovers() == [])
    }

    @Test func vendorWithoutNetworkExplainsFrom() throws {
        let copy = try Copy()
        let outcome = try copy.run()
        expectOneLine(outcome, saying: try Self.carrier().file, "Connection refused", "--from")
        #expect(try copy.leftovers() == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: copy.cache.path) == [])
    }

    @Test func downloadRequirementsHaveChecksums() throws {
        let lines = try String(contentsOf: Repository.file("scripts/lib/download-requirements.txt"), encoding: .utf8)
            .split(separator: "\n").filter { !$0.hasPrefix("#") }
        for line in lines { #expect(line.wholeMatch(of: /\w+==[\d.]+( ; .+)? --hash=sha256:[0-9a-f]{64}/) != nil, "\(line)") }
        let tool = try #require(try JSONDecoder().decode(Tools.self, from: Data(contentsOf: Repository.file("Vendor/pins.json"))).tools.first)
        #expect(lines.first?.hasPrefix("\(tool.name)==\(tool.version) ") == true)
    }

    private struct Tools: Decodable {
        struct Tool: Decodable { let name, version: String }
        let tools: [Tool]
    }

    /// Another program under the downloader's name and version would run before the archive is verified.
    @Test func downloaderWithWrongChecksumIsNotRun() throws {
        let copy = try Copy(), shelf = try TemporaryFolder()
        let wheel = """
            import sys, zipfile
            with zipfile.ZipFile(sys.argv[1] + "/unearth-0.19.0-py3-none-any.whl", "w") as wheel:
                wheel.writestr("unearth/__init__.py", "")
                wheel.writestr("unearth/__main__.py", f"open({sys.argv[1] + '/has-run'!r}, 'w')")
                wheel.writestr("unearth-0.19.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: unearth\\nVersion: 0.19.0\\n")
                wheel.writestr("unearth-0.19.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
                wheel.writestr("unearth-0.19.0.dist-info/RECORD", "")
            """
        #expect(try Command.run("python3", ["-c", wheel, shelf.url.path]).status == 0)
        let outcome = try Command.run(copy.script, ["--fetch"], environment: copy.environment.merging(["PIP_FIND_LINKS": shelf.url.path]) { $1 })
        #expect(outcome.status == 1 && outcome.errors.contains("pip install unearth failed"), "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: shelf.path("has-run")))
    }

    /// A place that pip's configuration still names, and that is gone, is passed over, as pip does.
    @Test func staleFindLinksIsSkipped() throws {
        let copy = try Copy(), shelf = try TemporaryFolder()
        let code = """
            import sys
            sys.path.insert(0, sys.argv[1])
            import carriers
            there, gone = sys.argv[2], sys.argv[2] + "/gone"
            print(carriers.download_options({
                "index-url": "https://a/simple", "find-links": f"{gone} {there} file://{gone} file://{there} https://b/links"}))
            """
        let library = copy.folder.url.appendingPathComponent("scripts/lib").path
        let outcome = try Command.run("python3", ["-B", "-c", code, library, shelf.url.path])
        try #require(outcome.status == 0, "\(outcome.errors)")
        let there = shelf.url.path, options = "['--index-url', 'https://a/simple', '--find-link', '\(there)', "
            + "'--find-link', 'file://\(there)', '--find-link', 'https://b/links']"
        #expect(outcome.output.split(separator: "\n") == [
            "vendor: pip's find-links names \(there)/gone, which does not exist: left out",
            "vendor: pip's find-links names file://\(there)/gone, which does not exist: left out", Substring(options),
        ])
    }

    @Test func unwritableCacheFailsVendor() throws {
        let copy = try Copy()
        // A file where a folder should be stops root as well, whom permissions do not.
        try Data().write(to: copy.cache)
        expectOneLine(try copy.run(), saying: "vendor: cache: ")
        #expect(try copy.leftovers() == [])
    }

    /// The largest file does not fit under the limit: write(2) fails half-way.
    @Test func truncatedVendorWriteLeavesNoFiles() throws {
        let copy = try Copy()
        let shell = "ulimit -f 4000; exec \"$@\""
        let arguments = ["-c", shell, "bash", copy.script, "--from", copy.archive.deletingLastPathComponent().path]
        expectOneLine(try Command.run("bash", arguments, environment: copy.environment),
                      saying: "Vendor/.sqlcipher.new/sqlite3.c", "File too large")
        #expect(try copy.leftovers() == [])
        try copy.unpack()
    }

    #if os(Linux)
    static let mountsAreAllowed = (try? Command.run("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status) == 0

    /// A file system of 4 MB, seen by this one process, as the package's Vendor folder.
    @Test(.enabled(if: mountsAreAllowed, "this machine gives no mount namespace")) func vendorOnFullDiskLeavesNoFiles() throws {
        let copy = try Copy()
        let shell = """
            set -e
            cp -r "$1/Vendor/pins.json" "$1/Vendor/patches" "$1"
            mount -t tmpfs -o size=4m none "$1/Vendor"
            mv "$1/pins.json" "$1/patches" "$1/Vendor"
            status=0
            "$2" --from "$3" || status=$?
            ls -A "$1/Vendor"
            exit $status
            """
        let paths = [copy.folder.url.path, copy.script, copy.archive.deletingLastPathComponent().path]
        let outcome = try Command.run("unshare", ["-rm", "bash", "-c", shell, "bash"] + paths, environment: copy.environment)
        expectOneLine(outcome, saying: "Vendor/.sqlcipher.new/sqlite3.c", "No space left on device")
        #expect(outcome.output == "patches\npins.json\n")
    }
    #endif

    @Test func killedVendorRunIsRepaired() throws {
        let copy = try Copy()
        let half = copy.vendor.appendingPathComponent(".sqlcipher.new/sqlite3.c")
        // The moment between the first byte and the rename is short: take aim until it is hit, looking without a longer pause.
        for _ in 0..<20 {
            let command = try copy.start("--from", copy.archive.deletingLastPathComponent().path)
            while command.process.isRunning, !FileManager.default.fileExists(atPath: half.path) { usleep(100) }
            kill(command.process.processIdentifier, SIGKILL)
            _ = try command.end()
            if FileManager.default.fileExists(atPath: half.path) { break }
            try? FileManager.default.removeItem(at: copy.engine)
        }
        #expect(try copy.leftovers() == [".sqlcipher.new"], "no kill hit the middle, or it left a half-made folder in place")

        try copy.unpack()
        #expect(try copy.leftovers() == ["sqlcipher"])
        #expect(try copy.run("--check").status == 0)
    }

    @Test func concurrentVendorRunsSucceed() throws {
        let copy = try Copy()
        let shelf = copy.archive.deletingLastPathComponent().path
        let commands = try (0..<4).map { _ in try copy.start("--from", shelf) }
        for command in commands {
            let outcome = try command.end()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        }
        #expect(try copy.run("--check").status == 0)
        #expect(try copy.leftovers() == ["sqlcipher"])
    }

    @Test func vendorArgumentsAreChecked() throws {
        let copy = try Copy()
        #expect(try copy.run("--help").output.contains("--from"))
        #expect(try copy.run("--nonsense").status == 2)
        #expect(try copy.run("--check", "--from", "/").status == 2)
    }
}

/// Exactly one line on standard error, with all of `words` in it, and an exit status that says so.
func expectOneLine(_ outcome: Command.Outcome, saying words: String..., status: Int32 = 1,
                           _ location: SourceLocation = #_sourceLocation) {
    #expect(outcome.status == status, sourceLocation: location)
    #expect(outcome.errorLines.count == 1, "\(outcome.errors)", sourceLocation: location)
    for word in words { #expect(outcome.errors.contains(word), "\(outcome.errors)", sourceLocation: location) }
}

func sum(_ file: URL) throws -> String {
    let code = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())"
    return try Command.run("python3", ["-c", code, file.path]).output.trimmingCharacters(in: .newlines)
}
