import GRDB

/// Reads texts through GRDB's types, which have to be the program's own.
public func texts(_ reader: some DatabaseReader, _ sql: String) throws -> [String] {
    try reader.read { db in try String.fetchAll(db, sql: sql) }
}
