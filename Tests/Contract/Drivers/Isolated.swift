import Foundation
import KillPoints
import SQLCipherKit
import TestSupport

/// Runs pieces of work in separate processes, so that a piece that traps or hangs is one line of the report.
enum Isolated {
    /// The page that the parent reads after the end of a child: the number of tries, and the present one.
    nonisolated(unsafe) private static let page: UnsafeMutableRawPointer = {
        let page = mmap(nil, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        guard let page, page != MAP_FAILED else { exit(3) }
        return page
    }()
    private static var counters: UnsafeMutablePointer<Int> { page.assumingMemoryBound(to: Int.self) }

    /// Prepares the shared page. Before the first child.
    static func start() { counters[0] = 0 }

    static var tried: Int { counters[0] }
    static var failures: Int { counters[1] }
    static var thrown: Int { counters[2] }

    static func countThrown() { counters[2] += 1 }

    /// Notes the next attempt.
    static func at(_ label: String) {
        counters[0] += 1
        let bytes = Array(label.utf8.prefix(4000)) + [0]
        page.advanced(by: 64).copyMemory(from: bytes, byteCount: bytes.count)
        alarm(30)
    }

    static var label: String { String(cString: page.advanced(by: 64).assumingMemoryBound(to: CChar.self)) }

    static func fail(_ problem: String) {
        counters[1] += 1
        FileHandle.standardOutput.write(Data("FAILED \(label): \(problem)\n".utf8))
    }

    /// Prints the answer of a call.
    static func show(_ result: String) { FileHandle.standardOutput.write(Data("\(label): \(result.prefix(300))\n".utf8)) }

    static func cover(_ promises: [Int], _ family: String) {
        FileHandle.standardOutput.write(Data("covered \(promises.map(String.init).joined(separator: " ")) \(family)\n".utf8))
    }

    private final class Body {
        let run: () throws -> Void
        init(_ run: @escaping () throws -> Void) { self.run = run }
    }

    /// Runs `body` in a child process, which is killed before its n-th change of the file system if `number` is not 0.
    /// - Returns: the status of the child, or 128 and its signal.
    static func child(struckAt number: Int = 0, how: Int = KILLPOINTS_ALL, _ body: @escaping () throws -> Void) -> Int32 {
        let body = Body(body)
        return withExtendedLifetime(body) {
            killpoints_run(number, Int32(how), { context in
                guard let context else { return 1 }
                do { try Unmanaged<Body>.fromOpaque(context).takeUnretainedValue().run() } catch {
                    Isolated.fail("the driver itself: \(error)")
                    return 1
                }
                return 0
            }, Unmanaged.passUnretained(body).toOpaque())
        }
    }

    /// Runs `body` in a child process, in which nothing may trap or hang.
    static func run(_ body: @escaping () throws -> Void) {
        let status = child(body)
        if status > 128 {
            fail(status == 128 + SIGALRM ? "it does not end" : "ended by signal \(status - 128)")
        } else if status > 1 {
            fail("ended with status \(status)")
        }
    }
}
