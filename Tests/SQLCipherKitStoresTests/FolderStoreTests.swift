import Foundation
import SQLCipherKit
import SQLCipherKitStores
import TestSupport
import Testing

/// RP5: the files that a folder store leaves behind, and the places where it writes.
@Suite struct FolderStoreTests {
    let folder: TemporaryFolder
    let store: FolderStore

    init() throws {
        folder = try TemporaryFolder()
        store = try FolderStore(folder.path("store"))
    }

    private func isUnavailable(_ error: any Error) -> Bool {
        (error as? DatabaseError)?.reason == .storeUnavailable
    }

    private func names() throws -> Set<String> {
        Set(try FileManager.default.subpathsOfDirectory(atPath: store.path).filter { $0 != "~lock" })
    }

    @Test(arguments: ["../x", "a/../../x", "/x", "a//b", "", ".", "a/.", "~x", "a/b~c", "a\0b"])
    func objectNamesCannotLeaveTheFolder(name: String) async throws {
        await #expect { try await store.put(name, [1], if: .always) } throws: { isUnavailable($0) }
        await #expect { try await store.get(name) } throws: { isUnavailable($0) }
        await #expect { try await store.delete(name) } throws: { isUnavailable($0) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["store"])
        #expect(try names().isEmpty)
    }

    /// A folder that cannot be made leaves none of its new parents.
    @Test(arguments: ["file", "link", "long", "file in a link"]) func failedFolderStoreLeavesNoFolder(what: String) throws {
        let outside = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: folder.path("file")))
        symlink(folder.path("nowhere"), folder.path("link"))
        symlink(outside.url.path, folder.path("folder"))
        let long = String(repeating: "x", count: 300)
        let path = ["file": "file/a/b", "link": "link/a", "long": "a/b/\(long)/c", "file in a link": "folder/a/b/\(long)"][what] ?? what
        func names() throws -> [String] {
            try [folder, outside].flatMap { try FileManager.default.subpathsOfDirectory(atPath: $0.url.path).sorted() }
        }
        let before = try names()
        #expect { try FolderStore(folder.path(path)) } throws: { isUnavailable($0) }
        #expect(try names() == before)
        _ = try FolderStore(folder.path("folder/a/b/"))
        _ = try FolderStore(folder.path("new/a/b"))
        var info = stat()
        #expect(stat(folder.path("new/a"), &info) == 0 && info.st_mode & 0o777 == 0o700)
    }

    /// Each kill once left a file as large as an object.
    @Test func killedWriterLeavesOneReplaceableFile() async throws {
        try Data(repeating: 1, count: 100_000).write(to: URL(fileURLWithPath: store.path + "/~new"))
        try await store.put("a/b", [1, 2], if: .isAbsent)
        #expect(try names() == ["a", "a/b"])
        #expect(try await store.list(prefix: "").map(\.name) == ["a/b"])
        #expect(try await store.put("a/b", [3], if: .isAbsent) == nil)
        #expect(try names() == ["a", "a/b"])
    }

    @Test(arguments: ["~lock", "~new", "object", "folder"]) func folderStoreFollowsNoLinks(kind: String) async throws {
        let target = folder.path("target"), outside = folder.path("outside")
        try Data("another's".utf8).write(to: URL(fileURLWithPath: target))
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
        symlink(kind == "folder" ? outside : target, store.path + "/" + kind)
        switch kind {
        case "~lock": await #expect { try await store.put("a", [1], if: .always) } throws: { isUnavailable($0) }
        case "~new": try await store.put("a", [1], if: .always)
        case "object":
            await #expect { try await store.get("object") } throws: { isUnavailable($0) }
            // Replaced, and not written through.
            try await store.put("object", [1], if: .always)
            #expect(try await store.get("object")?.bytes == [1])
        default: await #expect { try await store.put("folder/x", [1], if: .always) } throws: { isUnavailable($0) }
        }
        #expect(FileManager.default.contents(atPath: target) == Data("another's".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside) == [])
    }

    #if os(Linux)
        /// Storing a link only if its name is free once cost a read of the folder, and so did each proof of an object.
        @Test func conditionalPutReadsNoWholeObject() async throws {
            func bytesRead() throws -> Int {
                let figures = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
                return try #require(figures.firstMatch(of: /rchar: (\d+)/).flatMap { Int($0.1) })
            }
            let size = 300 << 20
            try await store.put("a", [1], if: .isAbsent)
            #expect(truncate(store.path + "/a", off_t(size)) == 0)
            let before = try bytesRead()
            for condition in [StoredObject.Condition.isAbsent, .isVersion("1-1")] {
                for _ in 0..<5 {
                    #expect(try await store.put("a", [2], if: condition) == nil)
                }
            }
            // Other tests read in the same process.
            #expect(try bytesRead() - before < 5 * size)
            let last = [UInt8](repeating: 0, count: 32).map { String($0, radix: 16) }.joined(separator: ".")
            try await store.put("a", [2], if: .isVersion("\(size)-\(last)"))
            #expect(try await store.get("a")?.bytes == [2])
        }
    #endif

    @Test func conditionalPutsHoldBetweenWriters() async throws {
        try await store.put("head", [0], if: .isAbsent)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [store] in
                    var added = 0
                    while added < 25 {
                        guard let object = try? await store.get("head") else { continue }
                        let next = [object.bytes[0] + 1]
                        if (try? await store.put("head", next, if: .isVersion(object.version))) != nil { added += 1 }
                    }
                }
            }
        }
        #expect(try await store.get("head")?.bytes == [100])
    }
}
