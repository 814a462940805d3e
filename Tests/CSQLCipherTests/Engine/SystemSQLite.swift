#if os(Linux)
import Glibc

/// The system's own SQLite, loaded into this process as any other library would load it.
struct SystemSQLite {
    struct Failure: Error { let message: String }

    private typealias Open = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<OpaquePointer?>) -> Int32
    private typealias Close = @convention(c) (OpaquePointer?) -> Int32
    private typealias Row = @convention(c) (
        UnsafeMutableRawPointer?, Int32, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
        UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32
    private typealias Execute = @convention(c) (
        OpaquePointer?, UnsafePointer<CChar>, Row?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
    private typealias Version = @convention(c) () -> UnsafePointer<CChar>

    private let opening: Open
    private let closing: Close
    private let executing: Execute
    let version: String

    init() throws {
        // RTLD_GLOBAL puts its names where all look-ups go: the hard case.
        guard let library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_GLOBAL) else {
            throw Failure(message: String(cString: dlerror()))
        }
        func function<T>(_ name: String, as type: T.Type) throws -> T {
            guard let address = dlsym(library, name) else { throw Failure(message: "no \(name)") }
            return unsafeBitCast(address, to: type)
        }
        opening = try function("sqlite3_open", as: Open.self)
        closing = try function("sqlite3_close", as: Close.self)
        executing = try function("sqlite3_exec", as: Execute.self)
        version = String(cString: try function("sqlite3_libversion", as: Version.self)())
    }

    func open(_ path: String) throws -> OpaquePointer {
        var handle: OpaquePointer?
        guard opening(path, &handle) == 0, let handle else { throw Failure(message: "open") }
        return handle
    }

    func close(_ handle: OpaquePointer) { _ = closing(handle) }

    /// The first column of every row, as text.
    @discardableResult
    func query(_ handle: OpaquePointer, _ sql: String) throws -> [String] {
        var values: [String] = []
        let code = withUnsafeMutablePointer(to: &values) { values in
            executing(handle, sql, { context, _, columns, _ in
                let values = context!.assumingMemoryBound(to: [String].self)
                values.pointee.append((columns?[0]).map { String(cString: $0) } ?? "")
                return 0
            }, values, nil)
        }
        guard code == 0 else { throw Failure(message: "\(sql): \(code)") }
        return values
    }
}
#endif
