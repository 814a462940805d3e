#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// The cost of calls and of sleeping databases, each in a process of its own.
    @Suite struct ConcurrencyCostTests {
        let folder: TemporaryFolder
        let driver: String

        init() throws {
            folder = try TemporaryFolder()
            driver = try BuildProducts.executable("FaultDriver")
        }

        private func run(_ action: String, _ count: Int) throws -> [String: Int] {
            let outcome = try Command(driver, [action, folder.path("a.db"), "\(count)"]).end()
            let lines = outcome.output.split(separator: "\n").map { $0.split(separator: " ") }
            return Dictionary(lines.compactMap { $0.count == 2 ? (String($0[0]), Int($0[1]) ?? -1) : nil }) { $1 }
        }

        /// A timeout of an hour leaves nothing of a call that ended at once.
        @Test func timedCallsRetainNoMemory() throws {
            let grown = try #require(try run("timed-calls", LongTests.areOn ? 1_000_000 : 20_000)["grown"])
            #expect(grown < 6000, "\(grown) KB")
        }

        @Test(arguments: ["sleeping-queues", "sleeping-pools"]) func idleDatabasesKeepNoThreads(action: String) throws {
            let cost = try run(action, LongTests.areOn ? 1000 : 60)
            let (threads, memory) = (try #require(cost["threads"]), try #require(cost["memory"]))
            // Swift's own, for tasks.
            #expect(threads <= 10, "\(cost)")
            #expect(memory < 1000, "\(cost) KB each")
            let descriptors = try #require(cost["descriptors"])
            #expect(descriptors <= 4, "\(cost)")
        }

        /// Where a process may use one processor only, Swift has one thread for tasks, and no read may hold it. With two, short
        /// reads run at once.
        @Test func readsDoNotBlockTheOnlyTaskThread() throws {
            for (processors, isOne) in [("0", true), ("0-1", false)] where isOne || ProcessInfo.processInfo.activeProcessorCount > 1 {
                let outcome = try Command.run("taskset", ["--cpu-list", processors, driver, "pool-short-reads", folder.path("a.db"), "one"])
                #expect(outcome.output.contains("at once"), "\(outcome)")
                #expect(outcome.output.contains("at once 0\n") == isOne, "\(outcome)")
            }
        }
    }
#endif
