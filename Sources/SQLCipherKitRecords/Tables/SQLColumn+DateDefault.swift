import Foundation
import SQLCipherKitCore

/// A default in SQL for dates: it has to give values that compare with those that are bound.
extension SQLColumn {
    /// Evaluates the default, and refuses one that does not compare with the form in which dates are stored.
    func checkDateDefault(in profile: ValueProfile, of table: String, _ db: Connection) throws(DatabaseError) {
        guard holdsDates, let sql = defaultExpression else { return }
        // What cannot be evaluated is an error of the statement that creates the column.
        guard let value = try? db.fetchOne(SQLValue.self, "SELECT \(sql)"), !value.isNull else { return }
        if value.compares(withDatesIn: profile) { return }
        let example = (try? Date().sqlValue(in: profile)).flatMap { try? $0.literal } ?? "a custom form"
        throw .invalidArgument(
            "the default of \(table).\(name) is like \((try? value.literal) ?? "something else"), and its dates are stored like "
                + "\(example): SQL would compare them wrongly; give the column another default or another ValueProfile")
    }
}

extension SQLValue {
    fileprivate func compares(withDatesIn profile: ValueProfile) -> Bool {
        guard let date = Date(sqlValue: self, in: profile), let stored = try? date.sqlValue(in: profile) else { return false }
        switch (self, stored) {
        case (.text(let text), .text(let stored)):
            // A text sorts before all that it begins: so a second compares with its milliseconds, and a day with its times.
            return text.hasPrefix(stored) || stored.hasPrefix(text)
        case (.integer, .integer), (.real, .real), (.integer, .real), (.real, .integer): return !isNow(otherThan: date)
        case (.blob, .blob): return true
        default: return false
        }
    }

    /// Whether a number is about the present day as another strategy counts, and not as its own does.
    private func isNow(otherThan date: Date) -> Bool {
        func isNear(_ date: Date) -> Bool { abs(date.timeIntervalSinceNow) < 20 * 366 * 86400 }
        if isNear(date) { return false }
        return [DateStrategy.realSeconds, .milliseconds, .secondsSince2001, .julianDays].contains { strategy in
            Date(sqlValue: self, in: ValueProfile(dates: strategy)).map(isNear) ?? false
        }
    }
}

extension SQLTable {
    /// The statements that create the table, whose defaults have been tried.
    func creation(ifNotExists: Bool = false, on db: Connection) throws(DatabaseError) -> [SQL] {
        let statements = try creation(ifNotExists: ifNotExists, values: db.profile)
        for column in columns { try column.checkDateDefault(in: profiles[column.name] ?? db.profile, of: name, db) }
        return statements
    }
}
