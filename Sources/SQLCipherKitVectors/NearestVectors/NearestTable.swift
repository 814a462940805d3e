import CSQLCipher
import SQLCipherKitCore

/// The table-valued function `vector_nearest(table, vector, limit)`: an eponymous virtual table
/// (<https://sqlite.org/vtab.html#epovtab>) whose hidden columns are its arguments. SQLite calls it only in calls on the
/// connection, which keep the connection alive.
final class NearestTable {
    fileprivate static let name = "vector_nearest"
    fileprivate static let declaration =
        #"CREATE TABLE x(id INTEGER, distance REAL, "table" HIDDEN, vector HIDDEN, "limit" HIDDEN)"#
    // The places of the columns in the declaration.
    fileprivate static let distance: Int32 = 1
    fileprivate static let arguments: ClosedRange<Int32> = 2...4

    fileprivate unowned(unsafe) let connection: Connection

    private init(_ connection: Connection) { self.connection = connection }

    static func install(_ connection: Connection) throws {
        let handle = try connection.liveOutsideHooks()
        // SQLite releases the box when the module is replaced, when the connection closes, and when this call fails.
        try connection.check(
            sqlite3_create_module_v2(handle, name, module, Unmanaged.passRetained(NearestTable(connection)).toOpaque()) { owner in
                if let owner { Unmanaged<NearestTable>.fromOpaque(owner).release() }
            })
    }

    /// Asks SQLite for the three arguments. The nearest rows come first.
    fileprivate static func plan(_ table: UnsafeMutablePointer<Table>, _ index: inout sqlite3_index_info) -> Int32 {
        var given: Set<Int32> = [], usable: Set<Int32> = []
        for place in 0..<Int(index.nConstraint) {
            let constraint = index.aConstraint[place]
            guard arguments.contains(constraint.iColumn), constraint.op == UInt8(SQLITE_INDEX_CONSTRAINT_EQ) else { continue }
            given.insert(constraint.iColumn)
            guard constraint.usable != 0, usable.insert(constraint.iColumn).inserted else { continue }
            index.aConstraintUsage[place].argvIndex = constraint.iColumn - arguments.lowerBound + 1
            index.aConstraintUsage[place].omit = 1
        }
        guard given.count == arguments.count else {
            table.pointee.explain("\(name) takes a table, a vector and a limit")
            return SQLITE_ERROR
        }
        // An argument comes from a table that is read later in this order of the join.
        guard usable.count == arguments.count else { return SQLITE_CONSTRAINT }
        if index.nOrderBy == 1, index.aOrderBy[0].iColumn == distance, index.aOrderBy[0].desc == 0 { index.orderByConsumed = 1 }
        index.estimatedCost = 100_000
        index.estimatedRows = 10
        return SQLITE_OK
    }

    /// Searches, or leaves the error to the connection and its message to SQLite.
    fileprivate static func filter(
        _ table: UnsafeMutablePointer<Table>, _ cursor: UnsafeMutablePointer<Cursor>, _ values: UnsafeMutablePointer<OpaquePointer?>
    ) -> Int32 {
        let owner = table.pointee.owner.takeUnretainedValue(), connection = owner.connection
        return connection.inFunction {
            do {
                try cursor.pointee.begin(values)
                cursor.pointee.hits = try owner.search(values)
                if !connection.isOpen { throw DatabaseError.closedConnection }
                return SQLITE_OK
            } catch {
                let error = DatabaseError(thrownBy: "the function \(name)", error)
                let message = String(error.message.prefix { $0 != "\0" })
                connection.keepCallbackError(error, rc: SQLITE_ERROR, message: message)
                table.pointee.explain(message)
                return SQLITE_ERROR
            }
        }
    }

    /// The statement that reads the table has a transaction already.
    private func search(_ values: UnsafeMutablePointer<OpaquePointer?>) throws -> [VectorSearch.Hit] {
        func argument(_ place: Int) throws -> SQLValue {
            try values[place].map { try SQLValue(copying: $0, "argument \(place + 1)") } ?? .null
        }
        guard case .text(let table) = try argument(0), let vector = try VectorArgument.numbers(argument(1), 1),
            case .integer(let limit) = try argument(2)
        else {
            throw DatabaseError(
                code: .mismatch, reason: .typeMismatch,
                message: "\(Self.name) takes the name of a table, a vector and a whole number")
        }
        return try connection.vectors(table).found(VectorSearch(vector, limit: Int(clamping: limit)))
    }
}

// MARK: SQLite's structures

// SQLite gets a pointer to its own structure, which is the first member of these.

private struct Table {
    var base = sqlite3_vtab()
    let owner: Unmanaged<NearestTable>

    static func of(_ base: UnsafeMutablePointer<sqlite3_vtab>?) -> UnsafeMutablePointer<Table>? {
        base.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Table.self) }
    }

    /// Leaves SQLite a message, which it releases.
    mutating func explain(_ message: String) {
        sqlite3_free(base.zErrMsg)
        base.zErrMsg = message.withCString { text in
            let size = message.utf8.count + 1
            guard let copy = sqlite3_malloc64(UInt64(size)) else { return nil }
            copy.copyMemory(from: text, byteCount: size)
            return copy.assumingMemoryBound(to: CChar.self)
        }
    }
}

private struct Cursor {
    var base = sqlite3_vtab_cursor()
    var hits: [VectorSearch.Hit] = []
    var place = 0
    /// Copies of the arguments, which are the values of the hidden columns.
    private var arguments: [OpaquePointer] = []

    /// Forgets the hits, and takes other arguments.
    mutating func begin(_ values: UnsafeMutablePointer<OpaquePointer?>) throws {
        end()
        for place in 0..<NearestTable.arguments.count {
            guard let copy = sqlite3_value_dup(values[place]) else {
                throw DatabaseError(code: .outOfMemory, message: "out of memory")
            }
            arguments.append(copy)
        }
    }

    mutating func end() {
        (hits, place) = ([], 0)
        for copy in arguments { sqlite3_value_free(copy) }
        arguments = []
    }

    /// The value of a hidden column. SQLite compares it with a second condition on an argument.
    func argument(_ column: Int32) -> OpaquePointer? {
        let place = Int(column - NearestTable.arguments.lowerBound)
        return arguments.indices.contains(place) ? arguments[place] : nil
    }

    static func of(_ base: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<Cursor>? {
        base.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Cursor.self) }
    }

    var hit: VectorSearch.Hit? { hits.indices.contains(place) ? hits[place] : nil }
}

// Made once, and never written afterwards.
nonisolated(unsafe) private let module: UnsafePointer<sqlite3_module> = {
    var module = sqlite3_module()
    // Without xCreate, no schema can have such a table: the only table has the function's own name.
    module.xConnect = { db, owner, _, _, made, _ in
        guard let db, let owner, let made else { return SQLITE_MISUSE }
        var rc = sqlite3_declare_vtab(db, NearestTable.declaration)
        if rc == SQLITE_OK { rc = sqlcipherkit_direct_only(db) }
        guard rc == SQLITE_OK else { return rc }
        let table = UnsafeMutablePointer<Table>.allocate(capacity: 1)
        table.initialize(to: Table(owner: Unmanaged.fromOpaque(owner)))
        made.pointee = UnsafeMutableRawPointer(table).assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }
    module.xDisconnect = { base in
        Table.of(base)?.deinitialize(count: 1).deallocate()
        return SQLITE_OK
    }
    module.xBestIndex = { base, index in
        guard let table = Table.of(base), let index else { return SQLITE_MISUSE }
        return NearestTable.plan(table, &index.pointee)
    }
    module.xOpen = { _, made in
        let cursor = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
        cursor.initialize(to: Cursor())
        made?.pointee = UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
        return SQLITE_OK
    }
    module.xClose = { base in
        guard let cursor = Cursor.of(base) else { return SQLITE_OK }
        cursor.pointee.end()
        cursor.deinitialize(count: 1).deallocate()
        return SQLITE_OK
    }
    module.xFilter = { base, _, _, count, values in
        guard let cursor = Cursor.of(base), let table = Table.of(base?.pointee.pVtab), let values,
            Int(count) == NearestTable.arguments.count
        else { return SQLITE_MISUSE }
        return NearestTable.filter(table, cursor, values)
    }
    module.xNext = { base in
        Cursor.of(base)?.pointee.place += 1
        return SQLITE_OK
    }
    module.xEof = { base in Cursor.of(base)?.pointee.hit == nil ? 1 : 0 }
    module.xColumn = { base, context, column in
        guard let cursor = Cursor.of(base), let hit = cursor.pointee.hit else { return SQLITE_MISUSE }
        switch column {
        case 0: sqlite3_result_int64(context, hit.rowID)
        case NearestTable.distance: sqlite3_result_double(context, hit.distance)
        default: sqlite3_result_value(context, cursor.pointee.argument(column))
        }
        return SQLITE_OK
    }
    module.xRowid = { base, row in
        guard let hit = Cursor.of(base)?.pointee.hit else { return SQLITE_MISUSE }
        row?.pointee = hit.rowID
        return SQLITE_OK
    }
    let memory = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
    memory.initialize(to: module)
    return UnsafePointer(memory)
}()
