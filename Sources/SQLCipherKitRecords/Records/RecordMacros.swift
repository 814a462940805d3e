import SQLCipherKitCore

// The trait also brings swift-syntax, which the compiler's plug-in is made of: without it nothing of that is fetched or built.
#if Macros

/// Makes a struct a record that reads and writes its columns by position, with its table's description.
///
/// Each stored property is a column under its own name. Further attributes describe a property; arguments of `@Record` describe the
/// table, or several columns together:
/// ```swift
/// @Record("album", indexes: [SQLIndex("album_year", on: ["year"])])
/// struct Album {
///     @PrimaryKey var id: Int64?
///     @Column(collate: "NOCASE") var title: String
///     @Column("artist_id") @References(Artist.self, onDelete: .cascade) var artist: Int64?
///     var year: Int?
///     @Column(default: 10, check: "tracks > 0") @ColumnDefault var tracks: Int?
///     @Stored(dates: .integerSeconds) var added: Date
///     var tags: [String]                     // JSON, as it is no single value
///     @Ignored var isPlaying = false
/// }
/// ```
/// It writes an extension with `tableName`, `recordColumns`, `table`, `init(columns:)` and `write(to:)`, as ``SQLPositionalRecord``
/// asks for them: look at it with your editor's *Expand Macro*. Where a column has another name than its property, or a property
/// is ignored, it also writes the `CodingKeys` that give `Codable` the same names, unless the struct has its own.
/// The macro requires the package trait `Macros`:
/// `.package(url: "…", from: "1.0.0", traits: ["Macros", .defaults])`.
/// - Parameters:
///   - table: the table's name, a literal. Default: ``SQLRecord/tableName``'s.
///   - options: the kind of the table. Default: an ordinary table.
///   - constraints: constraints on several columns, which are named as in the database. Default: none.
///   - indexes: the indexes that are made with the table. Default: none.
@attached(
    extension, conformances: SQLPositionalRecord, SQLRecord,
    names: named(tableName), named(recordColumns), named(table), named(columnProfiles), named(CodingKeys), named(init(columns:)),
    named(write(to:)))
public macro Record(
    _ table: String? = nil, options: SQLTable.Options = [], constraints: [SQLConstraint] = [], indexes: [SQLIndex] = []
) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMacro")

/// Makes the property the whole primary key of a record, like ``SQLColumn/primaryKey(autoincrement:)``. For a key of several
/// columns, write `constraints: [.primaryKey("a", "b")]`.
/// - Parameter autoincrement: whether the number of a deleted row is never reused. Default: no.
@attached(peer)
public macro PrimaryKey(autoincrement: Bool = false) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// The column of a property, with a name, constraints or a default of its own.
/// - Parameters:
///   - name: the column's name, a literal. Default: the property's.
///   - notNull: whether NULL is refused; a property that is not optional always refuses NULL. Default: no.
///   - unique: whether no two rows may have the same value. Default: no.
///   - uniqueOnConflict: makes the column unique, with this behavior for a second row of the same value. Default: not unique.
///   - collate: the collation that compares text. Default: byte by byte.
///   - default: the value in a row that is inserted without a value. Default: NULL.
///   - defaultSQL: the default as an SQL expression, such as `"CURRENT_TIMESTAMP"`.
///   - check: a condition that each row must meet. Default: none.
@attached(peer)
public macro Column(
    _ name: String? = nil, notNull: Bool = false, unique: Bool = false, uniqueOnConflict: ConflictResolution? = nil,
    collate: String? = nil, default: (any SQLValueConvertible)? = nil, defaultSQL: SQL? = nil, check: SQL? = nil
) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A column that refers to the primary key of another record's table, as with
/// ``SQLColumn/references(_:onDelete:onUpdate:isDeferred:)``.
@attached(peer)
public macro References<Other: SQLRecord>(
    _ type: Other.Type, onDelete: SQLForeignKey.Action = .noAction, onUpdate: SQLForeignKey.Action = .noAction,
    isDeferred: Bool = false
) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A column that refers to another table; see ``SQLColumn/references(_:_:onDelete:onUpdate:isDeferred:)``.
@attached(peer)
public macro References(
    _ table: String, _ column: String? = nil, onDelete: SQLForeignKey.Action = .noAction,
    onUpdate: SQLForeignKey.Action = .noAction, isDeferred: Bool = false
) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A column whose value is computed from other columns, and which is read but never written; see ``SQLColumn/generated(as:_:)``.
@attached(peer)
public macro Generated(as expression: SQL, _ generation: SQLColumn.Generation = .virtual) =
    #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A column that stores its values in the forms of its own profile; see ``ColumnCodingCustomizable/columnProfiles``.
@attached(peer)
public macro Stored(_ profile: ValueProfile) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A column that stores dates in its own form.
@attached(peer)
public macro Stored(dates: DateStrategy) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A column that stores UUIDs in its own form.
@attached(peer)
public macro Stored(uuids: UUIDStrategy) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A column that stores decimals in its own form.
@attached(peer)
public macro Stored(decimals: DecimalStrategy) = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

/// A stored property that has no column. Give it an initial value.
@attached(peer)
public macro Ignored() = #externalMacro(module: "SQLCipherKitMacros", type: "RecordMarker")

#endif
