import Foundation
import TestSupport
import Testing

/// The object files of the package's C targets, in the build folder that the running tests came from.
enum BuildObjects {
    /// A target's folder of sources.
    private static let sources = ["CSQLCipherEngine": "CSQLCipher/Engine", "CSQLCipherProvider": "CSQLCipher"]

    /// Objects of sources that are gone stay there until the folder is cleaned: they are left out.
    static func files(ofTarget target: String) throws -> [URL] {
        let source = Repository.file("Sources/\(sources[target] ?? target)").path
        var folder = try program.deletingLastPathComponent()
        // On Linux the program stands beside its objects; on macOS it is some levels down in a bundle.
        for _ in 0..<5 {
            let candidate = folder.appendingPathComponent("\(target).build")
            if let files = FileManager.default.enumerator(at: candidate, includingPropertiesForKeys: nil) {
                let found = files.compactMap { $0 as? URL }.filter { file in
                    let path = file.deletingPathExtension().path.dropFirst(candidate.path.count)
                    return file.pathExtension == "o" && FileManager.default.fileExists(atPath: source + path)
                }
                if !found.isEmpty { return found }
            }
            folder.deleteLastPathComponent()
        }
        return []
    }

    /// The program that these tests run in.
    static var program: URL {
        get throws {
            #if os(Linux)
            return URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            #else
            var image = Dl_info()
            try #require(dladdr(#dsohandle, &image) != 0)
            return URL(fileURLWithPath: String(cString: image.dli_fname))
            #endif
        }
    }

    /// Names of the global symbols that a file defines, as C spells them.
    static func definedGlobals(_ file: URL) throws -> [String] {
        let listing = try Command.run("nm", ["-g", "--defined-only", file.path])
        try #require(listing.status == 0, "nm: \(listing.errors)")
        return listing.output.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count == 3 else { return nil }
            return String(fields[2])
        }
    }

    static func symbols(ofTarget target: String) throws -> Set<String> {
        let files = try files(ofTarget: target)
        try #require(!files.isEmpty, "no objects of \(target)")
        return Set(try files.flatMap(definedGlobals))
    }
}
