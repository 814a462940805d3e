import SQLCipherKitCore

/// A statement whose parameters are the values of positional records of one type.
final class PositionalStatement {
    let statement: Statement
    let layout: PositionalLayout
    let mayLeaveOut: Bool
    private let isFreeOfSchema: Bool
    private let parameters: UnsafeMutablePointer<Int32>

    /// - Parameters:
    ///   - keys: the columns that are bound, in the order of the parameters.
    ///   - present: whether the records set each column.
    ///   - isFreeOfSchema: as for an ``EncodedStatement``.
    ///   - mayLeaveOut: as for a ``RecordStatement``.
    init(
        _ statement: Statement, _ layout: PositionalLayout, keys: [String], present: [Bool], isFreeOfSchema: Bool,
        mayLeaveOut: Bool
    ) {
        self.statement = statement
        self.layout = layout
        (self.isFreeOfSchema, self.mayLeaveOut) = (isFreeOfSchema, mayLeaveOut)
        parameters = .allocate(capacity: max(present.count, 1))
        for (index, name) in layout.names.enumerated() {
            let parameter = present[index] ? keys.firstIndex(ofText: name).map { Int32($0 + 1) } ?? 0 : -1
            (parameters + index).initialize(to: parameter)
        }
    }

    deinit { parameters.deallocate() }

    /// Runs the statement with a record's values.
    /// - Returns: whether that was possible.
    func run<Record: SQLRecord>(_ record: Record, _ row: ((borrowing Row) throws -> Void)? = nil) throws -> StatementRun {
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        var writer = SQLColumnWriter(handle, parameters, layout.count, layout.profiles, layout.profile)
        try record._write(to: &writer)
        try writer.checkEnd(Record.self)
        return writer.hasOtherColumns ? .otherColumns : try statement.run(handle, isFreeOfSchema: isFreeOfSchema, row)
    }
}

/// The forms in which a connection stores the columns of one type of positional records.
final class PositionalLayout {
    let names: [String]
    let profile: ValueProfile
    let profiles: UnsafeMutablePointer<ValueProfile>?
    var count: Int { names.count }

    init(_ names: [String], _ profile: ValueProfile, _ own: [String: ValueProfile]) {
        self.names = names
        self.profile = profile
        if own.isEmpty {
            profiles = nil
        } else {
            let each = UnsafeMutablePointer<ValueProfile>.allocate(capacity: max(names.count, 1))
            for (index, name) in names.enumerated() { (each + index).initialize(to: own[name] ?? profile) }
            profiles = each
        }
    }

    deinit { profiles?.deallocate() }

    /// The values of a record as they are stored, nil for a column that it leaves out.
    func values<Record: SQLRecord>(of record: Record) throws -> [SQLValue?] {
        try withUnsafeTemporaryAllocation(of: Int32.self, capacity: 1) { none in
            none.initialize(repeating: 0)
            // Nothing is bound, so that no parameter is looked at.
            guard let address = UnsafePointer(none.baseAddress) else { return [] }
            var collected: [SQLValue?] = []
            collected.reserveCapacity(count)
            try withUnsafeMutablePointer(to: &collected) { collected in
                var writer = SQLColumnWriter(nil, address, count, profiles, profile, collected)
                try record._write(to: &writer)
                try writer.checkEnd(Record.self)
            }
            return collected
        }
    }
}
