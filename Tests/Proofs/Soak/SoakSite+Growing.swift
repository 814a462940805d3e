import Foundation
import SQLCipherKit
import Synchronization

/// Growth on purpose, with `--grow`: a run that does not find it would find nothing.
extension SoakSite {
    private static let kept = Mutex<[[UInt8]]>([])

    func grow(_ leak: SoakOptions.Leak) async throws {
        try await Task.sleep(for: .milliseconds(10))
        switch leak {
        case .memory: Self.kept.withLock { $0.append([UInt8](repeating: 1, count: 200_000)) }
        case .descriptors: _ = dup(0)
        case .threads:
            let thread = Thread { Thread.sleep(forTimeInterval: 3600) }
            thread.stackSize = 1 << 16
            thread.start()
        case .log:
            // A reader that never ends keeps the log from starting again. Each round opens another.
            let db = try Connection(.file(path), key: Self.key(keyNumber))
            try db.execute("BEGIN")
            _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
            try await Task.sleep(for: .seconds(2))
        }
    }
}
