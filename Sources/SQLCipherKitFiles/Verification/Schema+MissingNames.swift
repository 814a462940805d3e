import Foundation
import SQLCipherKitCore

extension Schema {
    /// The tables that need a collation, a function or a module that the connection has not, each with the error that says so. Only
    /// compiles statements.
    /// - Parameter isOrdered: whether the values of the tables will be compared, which needs the collations of all columns.
    package func tablesOfMissingNames(isOrdered: Bool) throws -> [(table: String, error: DatabaseError)] {
        let isReadOnly = try isReadOnly
        return try entries(where: "type = 'table' AND rootpage > 0").compactMap { entry in
            let table = qualified(entry.name)
            let columns = try connection.fetchAll(
                String.self, "SELECT name FROM pragma_table_xinfo(\(entry.name), \(name)) WHERE hidden = 0")
            let list = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
            // The first needs what checks, stored columns and indexes need, and the second what all columns need.
            let insert = "INSERT INTO \(table)(\(list)) VALUES (\(columns.map { _ in "NULL" }.joined(separator: ", ")))"
            let select = "SELECT \(isOrdered ? "DISTINCT " : "")* FROM \(table)"
            var found = try missingName(of: insert)
            if found != nil { found = try withoutTriggers { try missingName(of: insert) } }
            if found == nil { found = try missingName(of: select) }
            if found == nil, isReadOnly { found = try missingName(ofChecksIn: entry) }
            return found.map { (entry.name, $0) }
        }
    }

    private func missingName(of sql: String) throws -> DatabaseError? {
        do { _ = try RawStatement(connection, sql) } catch let error as DatabaseError where error.isOfSchema {
            return error.isOfMissingName ? error : nil
        }
        return nil
    }

    /// SQLite leaves out the checks of a table in a database that cannot be written, so the definition is tried in another one.
    private func missingName(ofChecksIn entry: SchemaEntry) throws -> DatabaseError? {
        guard entry.sql?.range(of: "check", options: .caseInsensitive) != nil else { return nil }
        let memory = try Connection(.memory, configuration: .forCopy(of: connection))
        defer { memory.close() }
        do { try memory.execute(SQL(raw: entry.statement().sql)) } catch let error as DatabaseError where error.isOfSchema {
            guard error.isOfMissingName else { return nil }
            let function = error.message.components(separatedBy: "no such function: ").last ?? ""
            let known: SQL = "SELECT 1 FROM pragma_function_list WHERE name = \(function) COLLATE NOCASE"
            return try connection.fetchOne(Int.self, known) == nil ? error : nil
        }
        return nil
    }

    private func withoutTriggers<R>(_ body: () throws -> R) throws -> R {
        let settings = connection.settings, hasTriggers = try settings.isEnabled(.triggers)
        try settings.setEnabled(.triggers, to: false)
        defer { _ = try? settings.setEnabled(.triggers, to: hasTriggers) }
        return try body()
    }
}

extension DatabaseError {
    /// True if SQL needs a collation, a function, a tokenizer or a module that the connection has not.
    package var isOfMissingName: Bool { ForeignName(message) != nil }

    /// True if a statement cannot be compiled or run because of its text, the schema or a refusal, such as that of the key slots'
    /// table, and not because of memory, the disk, a lock or an interrupt.
    package var isOfSchema: Bool {
        [.error, .constraint, .corrupt, .misuse, .authorization].contains(code.primary)
    }
}
