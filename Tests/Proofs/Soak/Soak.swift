import Foundation
import SQLCipherKit

/// Everything together on the same files, for as long as you say, with memory, descriptors, threads and files measured.
///
/// `Soak --minutes N [--seed N] [--folder DIR] [--samples FILE] [--grow WHAT] [--only TASK]…`. `Soak writer PATH KEY NAME` is the
/// second process, which is killed.
@main
struct Soak {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            if arguments.first == "writer" {
                try Writer.run(arguments)
                return
            }
            let options = try SoakOptions(arguments)
            exit(try await run(options) ? 0 : 1)
        } catch let error as SoakOptions.Problem {
            FileHandle.standardError.write(Data("Soak: \(error.text)\n".utf8))
            exit(2)
        } catch {
            say("FOUND the run ended with \(error)")
            exit(1)
        }
    }

    /// Returns whether nothing was found.
    private static func run(_ options: SoakOptions) async throws -> Bool {
        let own = FileManager.default.temporaryDirectory.path + "/soak-\(ProcessInfo.processInfo.globallyUniqueString)"
        let folder = options.folder ?? own
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { if options.folder == nil { try? FileManager.default.removeItem(atPath: folder) } }
        let site = try SoakSite(folder, options)
        let recorder = SampleRecorder(site)
        recorder.start(every: options.seconds < 60 ? 0.05 : 1)

        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<SoakSite.writers { group.addTask { await site.repeatedly("write") { try await site.write(worker) } } }
            group.addTask { await site.repeatedly("read") { try await site.read() } }
            group.addTask { await site.repeatedly("snapshot") { try await site.takeSnapshot() } }
            group.addTask { await site.repeatedly("observe") { try await site.observe() } }
            group.addTask { await site.repeatedly("cancel") { try await site.cancel() } }
            group.addTask { await site.repeatedly("search") { try await site.search() } }
            group.addTask { await site.repeatedly("record") { try await site.keepRecords() } }
            group.addTask { await site.repeatedly("key-value") { try await site.keepSettings() } }
            group.addTask { await site.repeatedly("backup") { try await site.backUp() } }
            group.addTask { await site.repeatedly("checkpoint") { try await site.checkpoint() } }
            group.addTask { await site.repeatedly("key slots") { try await site.changeSlots() } }
            group.addTask { await site.repeatedly("disturb") { try await site.disturb() } }
            if let leak = options.grow { group.addTask { await site.repeatedly("grow") { try await site.grow(leak) } } }
        }

        let samples = recorder.stop()
        try await site.judgeContent()
        if let file = options.samples { try samples.write(to: file) }
        for growth in samples.growths() where growth.isTooMuch { site.found(growth.description) }
        say("soak: \(site.summary), \(samples.summary), seed \(options.seed)")
        return site.findings == 0
    }
}
