extension String {
    /// The UTF-8 bytes: two texts are the same if their bytes are. Swift's `==` also treats an accented letter and its decomposed
    /// form as equal.
    var bytes: [UInt8] { Array(utf8) }

    /// The UTF-8 bytes with ASCII letters in lower case: SQLite treats two names as the same if these are.
    var sqlName: [UInt8] { utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 } }
}
