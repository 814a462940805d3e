/// The rule by which the coding keys of a type become the names of its columns; see ``ColumnCodingCustomizable/columnNaming``.
public struct ColumnNaming: Sendable {
    private let convert: (@Sendable (String) -> String)?

    /// The coding keys, unchanged.
    public static let codingKeys = ColumnNaming(convert: nil)

    /// The coding keys in lowercase, with an underscore between words: `artistID` and `httpURLPath` become `artist_id` and
    /// `http_url_path`.
    public static let snakeCase = ColumnNaming { key in
        let letters = Array(key)
        return letters.indices.reduce(into: "") { name, index in
            let endsWord = index > 0 && letters[index].isUppercase && letters[index - 1] != "_"
            let isInCapitals = index > 0 && letters[index - 1].isUppercase
            if endsWord, !isInCapitals || index + 1 < letters.count && letters[index + 1].isLowercase { name += "_" }
            name += letters[index].lowercased()
        }
    }

    /// The result of a closure, which must return the same name each time.
    public static func custom(_ convert: @escaping @Sendable (String) -> String) -> ColumnNaming { ColumnNaming(convert: convert) }

    /// Returns the column of a coding key. The macro `@Record` calls it, and so can your own code:
    ///
    /// ```swift
    /// static let columnProfiles = [columnNaming("addedAt"): ValueProfile(dates: .integerSeconds)]
    /// ```
    public func callAsFunction(_ key: String) -> String { convert?(key) ?? key }
}
