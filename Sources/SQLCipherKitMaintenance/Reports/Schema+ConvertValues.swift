import SQLCipherKitCore

extension Schema {
    /// Converts all values of a column to one form; NULL is kept. It is one transaction, or part of the open one: either all values
    /// are converted or none.
    /// ```swift
    /// try db.main.convertValues(of: "created", in: "note", to: .dates(.timestamp))
    /// try db.main.convertValues(of: "ZCREATED", in: "ZNOTE", to: .dates(.timestamp, numbers: .secondsSince2001))
    /// ```
    /// Triggers fire and constraints are checked, as for any UPDATE. To convert a key together with the columns that refer to it,
    /// run both calls in a transaction after `PRAGMA defer_foreign_keys = ON`.
    /// - Parameters:
    ///   - column: the column's name.
    ///   - table: the table's name.
    ///   - conversion: the kind of its values and the form in which to store them.
    ///   - allowsRounding: whether a date may lose a fraction of a second that the form cannot hold. Default: false, which throws
    ///     in that case.
    /// - Returns: the number of values that were changed.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table or the column does not exist, if a value is not of this kind
    ///   or would be rounded, if a date is a number and the conversion does not say what numbers mean, or if the column's declared
    ///   type turns the new form into another one; or an error from SQLite. In each case nothing has changed.
    @discardableResult
    public func convertValues(
        of column: String, in table: String, to conversion: ValueConversion, allowingRounding allowsRounding: Bool = false
    ) throws(DatabaseError) -> Int {
        try DatabaseError.typed {
            try live()
            guard let found = try self.table(table), found.kind == .table,
                let name = found.columns.first(where: { $0.name.isSameName(as: column) && $0.kind == .normal })?.name
            else { throw DatabaseError.invalidArgument("there is no table \(table) with a stored column \(column)") }
            let source = qualified(found.name), quoted = name.quotedSQLIdentifier, place = "\(found.name).\(name)"
            return try connection.savepoint { db in
                var refused = 0, rounded = 0, ambiguous = 0
                var wanted: [StorageClass: Int] = [:], whole = 0
                try db.forEach(SQL(raw: "SELECT \(quoted) FROM \(source) WHERE \(quoted) IS NOT NULL")) { row in
                    // Text that is not UTF-8 is not a value of any kind.
                    guard let value = try? row.get(0, as: SQLValue.self) else { return refused += 1 }
                    let converted = conversion.convert(value)
                    switch converted {
                    case .value(let made), .rounded(let made):
                        wanted[made.storageClass, default: 0] += 1
                        if case .real(let number) = made, Int64(exactly: number) != nil { whole += 1 }
                        if case .rounded = converted { rounded += 1 }
                    case .ambiguous: ambiguous += 1
                    case .refused: refused += 1
                    }
                }
                if ambiguous > 0 {
                    throw DatabaseError.invalidArgument(
                        "\(ambiguous) values of \(place) are numbers, which could be seconds or milliseconds since 1970, seconds "
                            + "since 2001 or Julian days: say which with .dates(_, numbers:)")
                }
                if refused > 0 {
                    throw DatabaseError.invalidArgument(
                        "\(refused) values of \(place) cannot be stored as \(conversion.noun) of this form")
                }
                if rounded > 0, !allowsRounding {
                    throw DatabaseError.invalidArgument("\(rounded) dates of \(place) have a fraction that the form cannot hold")
                }
                let function = "sqlcipherkit_converted"
                try db.changingThisOneOnly {
                    try db.register(.function(function, .deterministic) { (value: SQLValue) -> SQLValue in
                        switch conversion.convert(value) {
                        case .value(let made), .rounded(let made): made
                        case .refused, .ambiguous: value
                        }
                    })
                }
                defer { db.changingThisOneOnly { try? db.unregister(.function(function, arguments: 1)) } }
                let made = "\(function)(\(quoted))"
                try db.execute(SQL(raw: """
                    UPDATE OR ABORT \(source) SET \(quoted) = \(made)
                    WHERE \(quoted) IS NOT NULL AND (typeof(\(quoted)) <> typeof(\(made)) OR \(quoted) COLLATE BINARY <> \(made))
                    """))
                let changes = db.changes
                var stored: [StorageClass: Int] = [:]
                try db.forEach(SQL(raw: "SELECT typeof(\(quoted)), count(*) FROM \(source) GROUP BY 1")) { row in
                    let (name, count): (String, Int) = try row.values()
                    if let kind = StorageClass(rawValue: name) { stored[kind] = count }
                }
                // A column for numbers keeps a whole real number as an integer, which is read as the same.
                let isKept = [.text, .blob].allSatisfy { stored[$0] == wanted[$0] }
                    && 0...whole ~= (stored[.integer] ?? 0) - (wanted[.integer] ?? 0)
                guard isKept else {
                    let type = found.columns.first { $0.name == name }?.type ?? ""
                    throw DatabaseError.invalidArgument(
                        "the declared type of \(place), \(type), turns values of this form into another one")
                }
                return changes
            }
        }
    }
}
