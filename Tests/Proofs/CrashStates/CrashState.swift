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

    /// In the order of their names.
    var files: [(name: String, content: [UInt8])] {
        names.sorted { $0.key < $1.key }.map { ($0.key, contents[$0.value] ?? []) }
    }

    /// Equal for equal files, in this process.
    var fingerprint: Int {
        var hasher = Hasher()
        for (name, content) in files {
            hasher.combine(name)
            hasher.combine(content.count)
            content.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }

    /// The name of a file that contains a text.
    func name(with text: String) -> String? {
        files.first { _, content in Data(content).range(of: Data(text.utf8)) != nil }?.name
    }

    /// Puts these files, and no others, into a folder. Databases that `held` has links to keep their inodes, by which the package
    /// knows a file again; other files may have one name only.
    func write(to folder: String, _ inodes: [Int: UInt64], held: String) throws {
        for name in SweepScenario.names(in: folder) { unlink(folder + "/" + name) }
        for (name, number) in names {
            let path = folder + "/" + name
            if name.hasSuffix(".db"), let inode = inodes[number] { link("\(held)/\(inode)", path) }
            let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            defer { close(file) }
            let content = contents[number] ?? []
            let written = content.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            guard file >= 0, written == content.count, fchmod(file, 0o600) == 0 else {
                throw SweepScenario.Wrong(description: "\(name) could not be written")
            }
        }
    }
}
