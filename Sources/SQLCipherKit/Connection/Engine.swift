import CSQLCipher

/// The engine that this package was built with: its versions, options and crypto provider.
///
/// All of it is read from the running engine, not from a constant of the build.
public enum Engine {
    /// SQLite's version, such as `3.53.4` (<https://sqlite.org/c3ref/libversion.html>).
    public static var sqliteVersion: String { String(cString: sqlite3_libversion()) }

    /// The identifier of the SQLite check-in that the engine was made from: date, time and hash.
    public static var sourceID: String { String(cString: sqlite3_sourceid()) }
}
