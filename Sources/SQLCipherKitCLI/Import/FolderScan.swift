import Foundation

/// The files in a folder and its subfolders, found without opening any of them.
struct FolderScan {
    struct File {
        let path: FilePath
        /// The path below the folder.
        let name: String
        /// In bytes.
        let size: Int
        let modified: Date
    }

    /// A file or folder that could not be read, and why.
    struct Unreadable {
        let name: String
        let reason: String
    }

    /// Regular files, in the order of their paths' bytes within each folder.
    private(set) var files: [File] = []
    private(set) var unreadable: [Unreadable] = []
    private(set) var symbolicLinks = 0
    /// Hidden files and folders that were left out, each folder counted once.
    private(set) var hidden = 0
    /// Sockets, pipes, devices.
    private(set) var specialFiles = 0
    private let root: FilePath
    private let includesHidden: Bool

    /// - Parameters:
    ///   - folder: where to begin; only this one may be a symbolic link.
    ///   - includesHidden: whether to look at names that begin with a dot.
    init(_ folder: String, includesHidden: Bool) throws {
        root = FilePath(folder)
        self.includesHidden = includesHidden
        try Self.check(folder)
        // A list in place of recursion: deeply nested folders would overflow the stack.
        var folders = [root]
        while let next = folders.popLast() {
            folders += scan(next).reversed()
            try Interruption.check()
        }
    }

    /// Holds a single file in place of a folder.
    init(file path: String, _ info: stat) {
        root = FilePath((path as NSString).deletingLastPathComponent)
        includesHidden = true
        files = [
            File(path: FilePath(path), name: (path as NSString).lastPathComponent, size: Int(info.st_size), modified: info.modified)
        ]
    }

    private static func check(_ folder: String) throws {
        var info = stat()
        guard stat(folder, &info) == 0 else { throw Failure("\(folder) cannot be read: \(systemMessage(errno))") }
        guard info.st_mode & S_IFMT == S_IFDIR else { throw Failure("\(folder) is not a folder") }
        guard let stream = opendir(folder) else { throw Failure("\(folder) cannot be read: \(systemMessage(errno))") }
        closedir(stream)
    }

    /// Adds one folder's files, and returns the folders in it.
    private mutating func scan(_ folder: FilePath) -> [FilePath] {
        guard let names = names(in: folder) else { return [] }
        var folders: [FilePath] = []
        for name in names {
            if name[0] == CChar(bitPattern: UInt8(ascii: ".")), !includesHidden {
                hidden += 1
                continue
            }
            let path = folder.appending(name)
            var info = stat()
            guard path.withCString({ lstat($0, &info) }) == 0 else {
                note(path, errno)
                continue
            }
            switch info.st_mode & S_IFMT {
            case S_IFDIR: folders.append(path)
            case S_IFLNK: symbolicLinks += 1
            case S_IFREG:
                files.append(File(path: path, name: path.text(below: root), size: Int(info.st_size), modified: info.modified))
            default: specialFiles += 1
            }
        }
        return folders
    }

    private mutating func names(in folder: FilePath) -> [[CChar]]? {
        guard let stream = folder.withCString({ opendir($0) }) else {
            note(folder, errno)
            return nil
        }
        defer { closedir(stream) }
        var names: [[CChar]] = []
        while let entry = readdir(stream) {
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let start = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            let name = Array(UnsafeBufferPointer(start: start, count: strlen(start) + 1))
            if name != [0x2e, 0] && name != [0x2e, 0x2e, 0] { names.append(name) }
        }
        return names.sorted { a, b in a.lexicographicallyPrecedes(b) { UInt8(bitPattern: $0) < UInt8(bitPattern: $1) } }
    }

    private mutating func note(_ path: FilePath, _ number: Int32) {
        unreadable.append(Unreadable(name: path.text(below: root), reason: systemMessage(number)))
    }
}
