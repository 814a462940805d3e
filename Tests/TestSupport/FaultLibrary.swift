#if os(Linux)
/// The library for LD_PRELOAD that lets system calls fail (Tests/Faults/shim.c).
public enum FaultLibrary {
    /// Returns the library's path. The library is compiled once.
    public static func path() throws -> String { try compiled.get().path }

    private static let compiled = Result {
        let folder = try TemporaryFolder(), path = folder.path("shim.so")
        let outcome = try Command.run("clang", ["-shared", "-fPIC", "-o", path, Repository.file("Tests/Faults/shim.c").path])
        if outcome.status != 0 { throw Command.Silence(description: outcome.errors) }
        return (path: path, folder: folder)
    }
}
#endif
