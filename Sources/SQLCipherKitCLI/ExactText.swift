extension String {
    /// The bytes in UTF-8: two texts are the same if these are, while Swift takes an accented letter and its decomposed form for
    /// equal.
    var bytes: [UInt8] { Array(utf8) }

    /// The bytes with ASCII letters in lower case: two names are the same to SQLite if these are.
    var sqlName: [UInt8] { utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 } }
}
