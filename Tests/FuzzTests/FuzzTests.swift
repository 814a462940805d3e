import Foundation
import LibFuzzer
import Synchronization
import TestSupport
import Testing

/// Whatever bytes come from outside, a call answers or throws. Here each target gets its seeds, the inputs that once were findings,
/// and some mutations of both. `scripts/workshop/fuzz` goes on for as long as you let it, guided by the code that each input
/// reaches.
// One test after another, and one target after another: some share a connection.
@Suite(.serialized) struct FuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let current = Mutex<FuzzTarget?>(nil)
    private static let inputs = LongTests.areOn ? 20_000 : 60

    @Test(arguments: FuzzTarget.all)
    func fuzzInputsReturnOrThrow(_ target: FuzzTarget) throws {
        let known = try target.seeds() + Self.findings(of: target)
        for input in known + [[]] { try target.body(input) }
        var mutator = Mutator(seed: 20_261_123)
        for _ in 0..<Self.inputs {
            let input = mutator.input(from: known, upTo: target.maximumBytes)
            do { try target.body(input) } catch {
                Issue.record("\(target.name): \(error)\n\(Data(input).base64EncodedString())")
                return
            }
        }
    }

    /// Each seed is cut off, and has an extreme number in place of as many bytes, or of one: at each place in long tests, else at
    /// some.
    @Test(arguments: FuzzTarget.all.filter(\.isOfBytes))
    func cutInputsAndExtremeNumbersAreAnswered(_ target: FuzzTarget) throws {
        for seed in try target.seeds() {
            let step = LongTests.areOn ? 1 : max(1, seed.count / 30)
            for place in stride(from: 0, to: seed.count, by: step) {
                var inputs = [Array(seed[..<place])]
                // All of them only at some places: each takes its turn.
                for turn in 0..<(LongTests.areOn ? Mutator.extremes.count : 3) {
                    let extreme = Mutator.extremes[(place / step * 3 + turn) % Mutator.extremes.count]
                    for count in [1, extreme.count] {
                        inputs.append(Array(seed[..<place]) + extreme + seed[min(seed.count, place + count)...])
                    }
                }
                for input in inputs where input.count <= target.maximumBytes {
                    do { try target.body(input) } catch {
                        Issue.record("\(target.name): \(error)\n\(Data(input).base64EncodedString())")
                        return
                    }
                }
            }
        }
    }

    #if DEBUG || SQLCIPHERKIT_TESTABLE
        @Test func fuzzScriptListsEachTarget() throws {
            let listed = try Command.run(Repository.file("scripts/workshop/fuzz").path, ["--list"])
            #expect(Set(listed.output.split(separator: "\n").map(String.init)) == Set(FuzzTarget.all.map(\.name)))
        }
    #endif

    /// The test that `scripts/workshop/fuzz` runs.
    @Test(.enabled(if: environment["SQLCIPHERKIT_FUZZ_TARGET"] != nil))
    func libFuzzerRunsChosenTarget() throws {
        let target = try #require(FuzzTarget.all.first { $0.name == Self.environment["SQLCIPHERKIT_FUZZ_TARGET"] })
        let corpus = try #require(Self.environment["SQLCIPHERKIT_FUZZ_CORPUS"])
        for (index, seed) in (try target.seeds() + Self.findings(of: target)).enumerated() {
            try Data(seed).write(to: URL(fileURLWithPath: "\(corpus)/seed-\(index)"))
        }
        let arguments = (Self.environment["SQLCIPHERKIT_FUZZ_ARGUMENTS"] ?? "").split(separator: "\n").map(String.init)
        var argv = (["fuzz", "-max_len=\(target.maximumBytes)"] + arguments + [corpus]).map { strdup($0) }
        argv.append(nil)
        defer { for argument in argv { free(argument) } }
        FuzzTests.current.withLock { $0 = target }
        let count = Int32(argv.count - 1)
        let status = argv.withUnsafeMutableBufferPointer { argv in
            libfuzzer_run(count, argv.baseAddress) { bytes, count in
                guard let target = FuzzTests.current.withLock({ $0 }) else { return -1 }
                do { try target.body(Array(UnsafeBufferPointer(start: bytes, count: count))) } catch {
                    FileHandle.standardError.write(Data("\(target.name): \(error)\n".utf8))
                    abort()
                }
                return 0
            }
        }
        #expect(status == 0, "this build has no libFuzzer: use scripts/workshop/fuzz")
    }

    /// Inputs that a run has found, one file each.
    private static func findings(of target: FuzzTarget) throws -> [[UInt8]] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Findings/\(target.name)")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
    }
}
