import SQLCipherKit

/// One statement, run by one of the calls that run SQL.
struct SQLStep: Step {
    enum Call: Int, CaseIterable, Sendable {
        case execute, forEach, fetchAll, cursor, prepared, stepped, named, interpolated, script
    }

    var sql: String
    var values: [SQLValue] = []
    var call = Call.forEach

    func run(in world: World) throws {
        let found = try world.both { db in try perform(db) } _: { reference in
            let outcome = reference.run(sql, values, controls: world.closures == 0)
            // These calls give no rows.
            if [.execute, .script].contains(call), case .rows = outcome { return .done }
            if call == .fetchAll, case .rows(let rows) = outcome { return .rows(rows.map { [$0[0]] }) }
            return outcome
        }
        if !found.isError, !world.isAborted, ["INSERT", "UPDATE", "DELETE"].contains(where: sql.hasPrefix) {
            try world.expect(.text("\(world.reference.changes) changes"), .text("\(world.db.changes) changes"))
        }
    }

    private func perform(_ db: Connection) throws -> Outcome {
        let sql = SQL(raw: sql), arguments = StatementArguments(values.map { $0 })
        switch call {
        case .execute:
            try db.execute(sql, arguments)
            return .done
        case .forEach: return .rows(try Contents.rows(db, sql, arguments))
        case .fetchAll: return .rows(try db.fetchAll(SQLValue.self, sql, arguments).map { [$0] })
        case .cursor:
            let cursor = try db.cursor(OwnedRow.self, sql, arguments)
            defer { cursor.close() }
            return .rows(try cursor.collect().map(\.values))
        case .prepared: return .rows(try db.prepare(sql).fetchAll(OwnedRow.self, arguments).map(\.values))
        case .stepped:
            let statement = try db.prepare(sql)
            try statement.bind(arguments)
            var rows: [[SQLValue]] = []
            while try statement.step() {
                var values: [SQLValue] = []
                for index in 0..<statement.columnCount { values.append(try statement[index]) }
                rows.append(values)
            }
            return .rows(rows)
        case .named:
            // Only for texts with the parameters :p1, :p2 and so on.
            return .rows(try Contents.rows(db, sql, StatementArguments(Dictionary(uniqueKeysWithValues: values.enumerated().map {
                ("p\($0 + 1)", $1)
            }))))
        case .interpolated: return .rows(try Contents.rows(db, interpolated()))
        case .script:
            try db.execute(SQLScript(self.sql))
            return .done
        }
    }

    /// The text with its values where the question marks are.
    private func interpolated() -> SQL {
        var text: SQL = ""
        for (index, part) in sql.split(separator: "?", omittingEmptySubsequences: false).enumerated() {
            if index > 0, index <= values.count { text = "\(text)\(values[index - 1])" }
            text = "\(text)\(raw: String(part))"
        }
        return text
    }

    var simpler: [any Step] {
        var found: [any Step] = call == .forEach || call == .fetchAll || call == .named ? [] : [SQLStep(sql: sql, values: values)]
        for (index, value) in values.enumerated() {
            for plain in [SQLValue.null, .integer(0), .text("")] where storageRank(plain) < storageRank(value) {
                var step = self
                step.values[index] = plain
                found.append(step)
            }
        }
        return found
    }

    private func storageRank(_ value: SQLValue) -> Int {
        switch value {
        case .null: 0
        case .integer(let number): number == 0 ? 1 : 3
        case .text(let text): text.isEmpty ? 2 : 4
        default: 5
        }
    }

    var description: String {
        let list = values.isEmpty ? "" : ", [" + values.map { show($0) }.joined(separator: ", ") + "]"
        return "try db.\(call)(\(show(sql))\(list))"
    }
}
