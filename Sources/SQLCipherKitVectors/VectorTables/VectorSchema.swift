import SQLCipherKitCore

/// The tables of a table of vectors, and the triggers that keep them in step with the content.
///
/// The table itself has the row ids that have a vector, each with a slot. The slots are numbered from 0 on, and so many in a row
/// make a chunk: the row ids, the factors and the vectors of its slots, one after the other, in three blobs. A slot whose row is
/// gone is in the list of free slots; its bytes are zero, and it is used again. A row of the content is either in the table or in
/// the list of missing vectors.
///
/// The triggers call no function but SQLite's own, so that every program can write the content. This engine fires the delete
/// trigger for rows that `REPLACE` deletes too; for other engines, which may not, a search leaves out rows that are gone.
struct VectorSchema {
    let schema: Schema
    let name: String
    let format: VectorFormat

    private var prefix: String { schema.quotedName + "." }
    // Names in a trigger must not be qualified: a trigger uses the tables of its own schema.
    private func own(_ suffix: String = "") -> String { (name + suffix).quotedSQLIdentifier }

    // MARK: Tables

    /// The statements that create the tables and, for external content, the view that has the texts, the triggers, and the list of
    /// rows, all of which are missing a vector.
    func creation(_ content: (table: String, key: String, columns: [String])?) -> [String] {
        var statements = [
            "CREATE TABLE \(prefix)\(own())(id INTEGER PRIMARY KEY, slot INTEGER NOT NULL UNIQUE)",
            """
            CREATE TABLE \(prefix)\(own(VectorNames.chunks))\
            (chunk INTEGER PRIMARY KEY, ids BLOB NOT NULL, factors BLOB NOT NULL, vectors BLOB NOT NULL)
            """,
            "CREATE TABLE \(prefix)\(own(VectorNames.free))(slot INTEGER PRIMARY KEY)",
            "CREATE TABLE \(prefix)\(own(VectorNames.missing))(id INTEGER PRIMARY KEY)",
            """
            CREATE TABLE \(prefix)\(own(VectorNames.settings))\
            (format INTEGER NOT NULL, dimensions INTEGER NOT NULL, element TEXT NOT NULL, metric TEXT NOT NULL, \
            bits INTEGER NOT NULL)
            """,
            """
            INSERT INTO \(prefix)\(own(VectorNames.settings)) VALUES (\(VectorFormat.version), \(format.dimensions), \
            '\(format.element.rawValue)', '\(format.metric.rawValue)', \(format.keepsBits ? 1 : 0))
            """,
        ]
        if format.keepsBits {
            statements.append("CREATE TABLE \(prefix)\(own(VectorNames.bits))(chunk INTEGER PRIMARY KEY, vectors BLOB NOT NULL)")
        }
        guard let (table, key, columns) = content else { return statements }
        let rows = table.quotedSQLIdentifier, id = key.quotedSQLIdentifier
        let texts = columns.map { "coalesce(t.\($0.quotedSQLIdentifier), '')" }.joined(separator: " || char(10) || ")
        statements.append(
            "CREATE VIEW \(prefix)\(own(VectorNames.source)) AS "
                + "SELECT t.\(id) AS id, trim(\(texts), char(10)) AS text FROM \(rows) AS t")
        statements.append("INSERT INTO \(prefix)\(own(VectorNames.missing))(id) SELECT \(id) FROM \(prefix)\(rows)")
        return statements + triggers(rows, id, columns.map(\.quotedSQLIdentifier))
    }

    // MARK: Triggers

    private func triggers(_ rows: String, _ id: String, _ columns: [String]) -> [String] {
        // Bytes are compared, because a collation may find texts equal that a model tells apart.
        let changed = ["old.\(id) IS NOT new.\(id)"] + columns.map { "CAST(old.\($0) AS BLOB) IS NOT CAST(new.\($0) AS BLOB)" }
        return [
            trigger(VectorNames.inserted, "AFTER INSERT ON \(rows)", forget("new.\(id)") + [miss("new.\(id)")]),
            trigger(
                VectorNames.updated, "AFTER UPDATE ON \(rows) WHEN \(changed.joined(separator: " OR "))",
                forget("old.\(id)") + forget("new.\(id)") + [unmiss("old.\(id)"), miss("new.\(id)")]),
            trigger(VectorNames.deleted, "AFTER DELETE ON \(rows)", forget("old.\(id)") + [unmiss("old.\(id)")]),
        ]
    }

    private func trigger(_ suffix: String, _ event: String, _ statements: [String]) -> String {
        "CREATE TRIGGER \(prefix)\(own(suffix)) \(event) BEGIN\n\(statements.map { "  \($0);\n" }.joined())END"
    }

    /// The statements that overwrite the vector of a row, if it has one, and free its slot. The conflict clause of the statement
    /// that fires a trigger applies to the trigger's own statements, so these leave it nothing to decide.
    /// - Parameters:
    ///   - id: an SQL expression for the row id.
    ///   - isQualified: whether the statements run outside a trigger.
    func forget(_ id: String, isQualified: Bool = false) -> [String] {
        let prefix = isQualified ? self.prefix : ""
        let slot = "(SELECT v.slot FROM \(prefix)\(own()) AS v WHERE v.id = \(id))"
        func wiped(_ table: String, _ size: Int, _ capacity: Int) -> String {
            let start = "\(slot) % \(capacity) * \(size)"
            // A chunk that is too short is damaged, which is no reason to keep the content's rows from changing.
            return """
                UPDATE \(prefix)\(own(table)) SET vectors = CAST(substr(vectors, 1, \(start)) || zeroblob(\(size)) || \
                substr(vectors, \(start) + \(size + 1)) AS BLOB) WHERE chunk = \(slot) / \(capacity) \
                AND length(vectors) >= \(start) + \(size)
                """
        }
        return [wiped(VectorNames.chunks, format.size, format.capacity)]
            + (format.keepsBits ? [wiped(VectorNames.bits, format.bitSize, format.bitCapacity)] : []) + [
                """
                INSERT INTO \(prefix)\(own(VectorNames.free))(slot) SELECT v.slot FROM \(prefix)\(own()) AS v WHERE v.id = \(id) \
                AND NOT EXISTS (SELECT 1 FROM \(prefix)\(own(VectorNames.free)) AS f WHERE f.slot = v.slot)
                """,
                "DELETE FROM \(prefix)\(own()) WHERE id = \(id)",
            ]
    }

    /// The statement that puts a row into the list of missing vectors.
    func miss(_ id: String, isQualified: Bool = false) -> String {
        let missing = (isQualified ? prefix : "") + own(VectorNames.missing)
        return "INSERT INTO \(missing)(id) SELECT \(id) WHERE NOT EXISTS (SELECT 1 FROM \(missing) AS m WHERE m.id = \(id))"
    }

    private func unmiss(_ id: String) -> String { "DELETE FROM \(own(VectorNames.missing)) WHERE id = \(id)" }
}
