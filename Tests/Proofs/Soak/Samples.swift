import Foundation
import Synchronization

/// The measures.
enum Measure: String, CaseIterable, Sendable {
    case memory, heap, descriptors, threads, database, log, slots

    var unit: String { self == .descriptors || self == .threads ? "" : " KiB" }

    /// The growth allowed over a whole run, beside a twentieth of the measure. Memory: the bytes that the allocator keeps in its
    /// threads' arenas. The heap: the bytes in use, without those arenas. The log: its size is between nothing and `maximumWALSize`
    /// at any time.
    var tolerance: Double {
        switch self {
        case .memory: 8 * 1024
        case .heap: 512
        case .descriptors, .threads: 4
        case .database: 256
        case .log: 512
        case .slots: 64
        }
    }
}

/// The measures of a run, in the order of time.
struct Samples: Sendable {
    var rows: [(seconds: Double, values: [Double])] = []

    /// The first third of a run is its warm-up: caches fill, arenas come, tables reach their size.
    func growths() -> [Growth] {
        guard let last = rows.last else { return [] }
        let settled = rows.filter { $0.seconds > last.seconds / 3 }
        return Measure.allCases.enumerated().map { index, measure in
            Growth(measure, settled.map { ($0.seconds, $0.values[index]) })
        }
    }

    /// The largest of each.
    var summary: String {
        let largest = Measure.allCases.enumerated().map { index, measure in
            "\(measure.rawValue) ≤ \(Int(rows.map { $0.values[index] }.max() ?? 0))\(measure.unit)"
        }
        return largest.joined(separator: ", ")
    }

    func write(to file: String) throws {
        var text = (["seconds"] + Measure.allCases.map(\.rawValue)).joined(separator: ",") + "\n"
        for row in rows {
            text += (["\((row.seconds * 1000).rounded() / 1000)"] + row.values.map { "\(Int($0))" }).joined(separator: ",") + "\n"
        }
        try text.write(toFile: file, atomically: true, encoding: .utf8)
    }
}

/// The growth of a measure: the median of the slopes between its samples (Theil and Sen), which a few high or low ones do not
/// change, times the length of the run.
struct Growth: CustomStringConvertible {
    let measure: Measure
    let amount: Double, typical: Double, seconds: Double

    init(_ measure: Measure, _ samples: [(Double, Double)]) {
        self.measure = measure
        // Some hundred samples have enough pairs.
        let step = max(1, samples.count / 300)
        let some = stride(from: 0, to: samples.count, by: step).map { samples[$0] }
        var slopes: [Double] = []
        for (index, a) in some.enumerated() {
            for b in some[(index + 1)...] where b.0 > a.0 { slopes.append((b.1 - a.1) / (b.0 - a.0)) }
        }
        seconds = (some.last?.0 ?? 0) - (some.first?.0 ?? 0)
        amount = Self.median(slopes) * seconds
        typical = Self.median(some.map(\.1))
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    /// A short run has few ups and downs that could cancel out.
    var isTooMuch: Bool { amount > max(measure.tolerance * (1 + 30 / max(seconds, 1)), typical / 20) }

    var description: String {
        "the \(measure.rawValue) grew by \(Int(amount))\(measure.unit) after the warm-up, from about \(Int(typical))\(measure.unit)"
    }
}

/// Takes samples on a thread of its own.
final class SampleRecorder: Sendable {
    private let site: SoakSite
    private let state = Mutex((samples: Samples(), isStopped: false))

    init(_ site: SoakSite) { self.site = site }

    func start(every seconds: Double) {
        let begun = ContinuousClock.now
        Thread { [self] in
            // Samples after the end of the time would look as if nothing grew.
            while !site.isOver, !state.withLock({ $0.isStopped }) {
                let time = Double((ContinuousClock.now - begun) / .milliseconds(1)) / 1000, values = measure()
                state.withLock { $0.samples.rows.append((time, values)) }
                Thread.sleep(forTimeInterval: seconds)
            }
        }.start()
    }

    func stop() -> Samples {
        state.withLock { state in
            state.isStopped = true
            return state.samples
        }
    }

    private func measure() -> [Double] {
        [
            Self.resident, Self.allocated, Double(Self.count("/proc/self/fd")), Double(Self.count("/proc/self/task")),
            Self.kilobytes(site.path), Self.kilobytes(site.path + "-wal"), Self.kilobytes(site.slotsPath),
        ]
    }

    /// The memory that the process has, in KiB; 0 where there is no `/proc`.
    private static var resident: Double {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1024
    }

    /// The memory in use, in KiB, as glibc counts it: with what its threads keep for themselves, unless GLIBC_TUNABLES says
    /// otherwise. 0 elsewhere.
    private static var allocated: Double {
        typealias Info = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
        guard let symbol = dlsym(nil, "malloc_info"), let file = tmpfile() else { return 0 }
        defer { fclose(file) }
        guard unsafeBitCast(symbol, to: Info.self)(0, file) == 0 else { return 0 }
        rewind(file)
        var text = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&text, 1, text.count, file)
        // The sums over all arenas come last.
        let sums = String(decoding: text[..<count], as: UTF8.self).components(separatedBy: "</heap>").last ?? ""
        func size(_ name: String) -> Double {
            guard let line = sums.split(separator: "\n").first(where: { $0.contains("type=\"\(name)\"") }) else { return 0 }
            return line.components(separatedBy: " size=\"").last.flatMap { Double($0.prefix { $0.isNumber }) } ?? 0
        }
        return (size("current") - size("fast") - size("rest") + size("mmap")) / 1024
    }

    private static func count(_ folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? 0
    }

    private static func kilobytes(_ path: String) -> Double {
        var info = stat()
        return stat(path, &info) == 0 ? Double(info.st_size) / 1024 : 0
    }
}
