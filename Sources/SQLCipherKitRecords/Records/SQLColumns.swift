import SQLCipherKitCore

/// The columns of one of a query's tables, accessed by the names of the record's properties.
@dynamicMemberLookup
public struct SQLColumns<Source>: Sendable {
    let table: SQLTable
    let alias: String

    func expression<Root: SQLRecord, Value, Result>(_ keyPath: KeyPath<Root, Value> & Sendable) -> SQLExpression<Result> {
        if let column = table.column(keyPath) {
            let profiles = Root.columnProfiles
            let profile = profiles.isEmpty ? nil : profiles[column.name]
            if alias.isSameText(as: column.names.table) { return SQLExpression(.column(column), .atom, profile) }
            return SQLExpression("\(identifier: alias).\(identifier: column.name)", .atom, profile)
        }
        guard let name = table.columnName(keyPath) else {
            return SQLExpression("\(RefusedValue(PropertyName.refusal(keyPath)))", .atom)
        }
        return SQLExpression("\(identifier: alias).\(identifier: name)", .atom, Root.columnProfiles[name])
    }

    /// A column for which the record has no property.
    public subscript<Value>(column name: String, as type: Value.Type = Value.self) -> SQLExpression<Value> {
        // On a side of an outer join that may have no row, it may be NULL.
        let side = Source.self as? any SQLNullable.Type
        let profile = (side?.wrapped as? any SQLRecord.Type)?.columnProfiles[name]
        return SQLExpression("\(identifier: alias).\(identifier: name)", .atom, profile, isLoose: side != nil)
    }
}

extension SQLColumns where Source: SQLRecord {
    /// A column for which the record has no property.
    @_documentation(visibility: private)
    public subscript<Value>(column name: String, as type: Value.Type = Value.self) -> SQLExpression<Value> {
        SQLExpression("\(identifier: alias).\(identifier: name)", .atom, Source.columnProfiles[name])
    }

    /// The column of a property.
    public subscript<Value>(dynamicMember keyPath: KeyPath<Source, Value> & Sendable) -> SQLExpression<Value> {
        expression(keyPath)
    }
}

/// On a side of an outer join that may have no row, each column may be NULL.
@_documentation(visibility: private)
extension SQLColumns {
    /// The column of a property, which is NULL if there is no row.
    public subscript<Record: SQLRecord, Value>(
        dynamicMember keyPath: KeyPath<Record, Value> & Sendable
    ) -> SQLExpression<Value?> where Source == Record? { expression(keyPath) }

    /// The column of an optional property.
    public subscript<Record: SQLRecord, Value>(
        dynamicMember keyPath: KeyPath<Record, Value?> & Sendable
    ) -> SQLExpression<Value?> where Source == Record? { expression(keyPath) }
}
