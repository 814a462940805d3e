import Dispatch
import Foundation

/// A workload, ready to be timed again and again.
public struct Workload {
    /// The part that is timed; returns a number by which the variants' results are compared.
    public let run: () throws -> Int64
    /// The untimed work after `run`; its number takes the place of `run`'s.
    public let finish: (() throws -> Int64)?

    public init(run: @escaping () throws -> Int64, finish: (() throws -> Int64)? = nil) {
        self.run = run
        self.finish = finish
    }
}

/// The settings with which a workload is prepared.
public struct Settings {
    /// An empty folder for its files.
    public let folder: String
    /// The divisor of the numbers of rows.
    public let scale: Int

    /// A number of rows at this scale.
    public func rows(_ full: Int32) -> Int { max(1, Int(full) / scale) }
}

/// Runs a workload on demand: prepares it, then answers each line of standard input by a run, and a line of
/// nanoseconds and check number. scripts/bench asks the variants in turn, so that they share the machine's moods.
public func serve(_ workloads: [(name: String, prepare: (Settings) throws -> Workload)]) throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count == 3, let scale = Int(arguments[2]) else {
        for workload in workloads { print(workload.name) }
        return
    }
    guard let prepare = workloads.first(where: { $0.name == arguments[0] })?.prepare else {
        FileHandle.standardError.write(Data("there is no workload \(arguments[0])\n".utf8))
        exit(2)
    }
    let workload = try prepare(Settings(folder: arguments[1], scale: scale))
    answer("ready")
    while readLine() != nil {
        let start = DispatchTime.now().uptimeNanoseconds
        let result = try workload.run()
        let end = DispatchTime.now().uptimeNanoseconds
        answer("\(end - start) \(try workload.finish?() ?? result)")
    }
}

/// A line, at once: `print` keeps it back when a pipe reads.
private func answer(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
