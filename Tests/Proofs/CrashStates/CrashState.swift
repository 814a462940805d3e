import Foundation
import SweepScenarios

/// The content of the disk after a power cut.
struct CrashState {
    private(set) var names: [String: Int]
    private(set) var contents: [Int: [UInt8]]

    init(_ cut: CrashCut, of log: CrashLog) {
        (names, contents) = (log.names, log.contents)
        for (number, change) in log.changes[..<cut.end].enumerated() {
            var part: Range<Int>?
            switch cut.missing[number] {
            case .some(.none): continue
            case .some(.bytes(let bytes)): part = bytes
            case nil: break
            }
            switch change.action {
            case .create(let name): names[name] = change.file
            case .remove(let name): names[name] = nil
            case .name(let name, let former):
                if let former, names[former] == change.file { names[former] = nil }
                names[name] = change.file
            case .write(let offset, let bytes):
                let part = part ?? 0..<bytes.count, end = offset + part.upperBound
                var content = contents.removeValue(forKey: change.file) ?? []
                if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
                content.withUnsafeMutableBytes { to in
                    bytes.withUnsafeBytes { from in
                        to[(offset + part.lowerBound)..<end].copyBytes(from: from[part])
                    }
                }
                contents[change.file] = content
            case .truncate(let size):
                var content = contents.removeValue(forKey: change.file) ?? []
                if content.count > size { content.removeLast(content.count - size) }
                if content.count < size { content += [UInt8](repeating: 0, count: size - content.count) }
                contents[change.file] = content
            case .sync, .syncFolder, .mark: break
            }
        }
    }

    /// Equal for equal files, in this process.
    var fingerprint: Int {
        var hasher = Hasher()
        for (name, file) in names.sorted(by: { $0.key < $1.key }) {
            hasher.combine(name)
            let content = contents[file] ?? []
            hasher.combine(content.count)
            content.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }

    /// Puts these files, and no others, into a folder.
    func write(to folder: String) throws {
        for name in SweepScenario.names(in: folder) { unlink(folder + "/" + name) }
        for (name, number) in names {
            let file = open(folder + "/" + name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            defer { close(file) }
            let content = contents[number] ?? []
            let written = content.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            guard file >= 0, written == content.count else {
                throw SweepScenario.Wrong(description: "\(name) could not be written")
            }
        }
    }
}
