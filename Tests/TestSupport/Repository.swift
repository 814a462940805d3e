import Foundation

/// The checkout that the tests were compiled from.
public enum Repository {
    public static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    public static func file(_ path: String) -> URL { root.appendingPathComponent(path) }
}

/// The products of the build, beside the running tests.
public enum BuildProducts {
    /// The folder of the running test program: `.build/debug`, for instance.
    public static var folder: URL {
        get throws {
            #if os(Linux)
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: program).deletingLastPathComponent()
            #else
            var folder = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
            while folder.pathExtension != "" { folder.deleteLastPathComponent() }
            return folder
            #endif
        }
    }

    /// The path of an executable of the package.
    public static func executable(_ name: String) throws -> String { try folder.appendingPathComponent(name).path }
}
