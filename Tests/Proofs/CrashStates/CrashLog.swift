import Foundation
import KillPoints
import SweepScenarios

/// The changes that a run made to the files of a folder, in their order, and the files that it began with.
struct CrashLog {
    enum Action {
        /// A name gets a new file.
        case create(String)
        case remove(String)
        /// A name leads to a file from now on, and another name, if there is one, no longer does.
        case name(String, insteadOf: String?)
        case write(offset: Int, [UInt8])
        case truncate(Int)
        /// Earlier writes to the file are on the disk.
        case sync
        /// The names are on the disk.
        case syncFolder
        /// A call has returned.
        case mark
    }

    struct Change {
        let action: Action
        /// The file's number, which it keeps under all its names.
        let file: Int
        /// A name of the file, for descriptions.
        let name: String

        var isOfNames: Bool {
            switch action {
            case .create, .remove, .name: true
            default: false
            }
        }

        var isOfContent: Bool {
            switch action {
            case .write, .truncate: true
            default: false
            }
        }
    }

    private(set) var changes: [Change] = []
    /// The names at the start, with the numbers of their files.
    let names: [String: Int]
    /// The content of the files at the start.
    let contents: [Int: [UInt8]]
    /// The inodes of the files.
    let inodes: [Int: UInt64]

    /// - Parameters:
    ///   - folder: the folder before the run.
    ///   - inodes: the inodes of its files.
    ///   - log: the recorded changes.
    init(folder: String, inodes: [String: UInt64], log: Data) throws {
        var names: [String: Int] = [:], contents: [Int: [UInt8]] = [:], files: [UInt64: Int] = [:], live: [Int: String] = [:]
        for (name, inode) in inodes {
            let number = names.count
            (names[name], files[inode], live[number]) = (number, number, name)
            contents[number] = [UInt8](FileManager.default.contents(atPath: folder + "/" + name) ?? Data())
        }
        (self.names, self.contents) = (names, contents)
        var numbered = Dictionary(uniqueKeysWithValues: files.map { ($0.value, $0.key) })
        var count = names.count, at = 0
        let bytes = [UInt8](log), size = MemoryLayout<killpoints_entry>.size
        while at + size <= bytes.count {
            let entry = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: at, as: killpoints_entry.self) }
            at += size
            func take(_ count: UInt32) -> ArraySlice<UInt8> {
                defer { at += Int(count) }
                return bytes[at..<min(bytes.count, at + Int(count))]
            }
            let first = String(decoding: take(entry.first), as: UTF8.self)
            let second = String(decoding: take(entry.second), as: UTF8.self)
            let written = take(entry.count), offset = Int(entry.offset)
            // The memory that processes share is made from scratch after a power cut.
            if first.hasSuffix("-shm") { continue }
            let file = files[entry.file]
            let change: (Action, Int)? =
                switch Int(entry.kind) {
                case KILLPOINTS_CREATE: (.create(first), count)
                case KILLPOINTS_REMOVE: (.remove(first), names[first] ?? -1)
                case KILLPOINTS_MOVE: names[first].map { (.name(second, insteadOf: first), $0) }
                case KILLPOINTS_LINK: names[first].map { (.name(second, insteadOf: nil), $0) }
                case KILLPOINTS_WRITE: file.map { (.write(offset: offset, Array(written)), $0) }
                case KILLPOINTS_TRUNCATE: file.map { (.truncate(offset), $0) }
                case KILLPOINTS_SYNC: file.map { (.sync, $0) }
                case KILLPOINTS_SYNC_FOLDER: (.syncFolder, -1)
                case KILLPOINTS_MARK: (.mark, -1)
                default: nil
                }
            if Int(entry.kind) == KILLPOINTS_FORGET { files[entry.file] = nil }
            guard let change else { continue }
            switch change.0 {
            case .create(let name):
                (files[entry.file], names[name], live[count], numbered[count]) = (count, count, name, entry.file)
                count += 1
            case .remove(let name): names[name] = nil
            case .name(let name, let former):
                if let former { names[former] = nil }
                (names[name], live[change.1]) = (change.1, name)
            default: break
            }
            changes.append(Change(action: change.0, file: change.1, name: live[change.1] ?? ""))
        }
        self.inodes = numbered
        guard at == bytes.count else { throw SweepScenario.Wrong(description: "the log ends within an entry") }
    }

    /// The number of calls that had returned before a change.
    func calls(before end: Int) -> Int {
        changes[..<end].count { if case .mark = $0.action { true } else { false } }
    }
}

extension CrashLog.Change: CustomStringConvertible {
    var description: String {
        switch action {
        case .create(let name): "create \(name)"
        case .remove(let name): "remove \(name)"
        case .name(let name, .some(let former)): "rename \(former) to \(name)"
        case .name(let name, nil): "link \(name)"
        case .write(let offset, let bytes): "write \(name) \(offset)+\(bytes.count)"
        case .truncate(let size): "truncate \(name) to \(size)"
        case .sync: "sync \(name)"
        case .syncFolder: "sync folder"
        case .mark: "returned"
        }
    }
}
