import GRDB
import Harness
import Workloads

@main
enum BenchGRDB {
    static func main() throws {
        var workloads: [(String, (Settings) throws -> Workload)] = [
            ("fetch-ints-index", fetchIntsByIndex),
            ("fetch-ints-name", fetchIntsByName),
            ("fetch-ints-struct", fetchIntsAsStruct),
            ("fetch-ints-codable", fetchIntsAsCodable),
            ("fetch-mixed", { try fetchMixed(DatabaseQueue(), $0) }),
            ("fetch-mixed-codable", fetchMixedAsCodable),
            ("insert-ints", insertInts),
            ("insert-mixed", { try insertMixed(DatabaseQueue(), $0.rows(INSERT_MIXED_ROWS)) }),
            ("lookup-pk", lookupByPrimaryKey),
            ("insert-codable-ints", insertCodableInts),
            ("insert-codable-mixed", insertCodableMixed),
            ("insert-plain-ints", insertCodableInts),
            ("insert-plain-mixed", insertCodableMixed),
            ("fetch-plain-ints", fetchIntsAsCodable),
            ("fetch-plain-sql", fetchIntsAsCodable),
            ("fetch-plain-mixed", fetchMixedAsCodable),
            ("lookup-plain-id", lookUpRecords),
            ("lookup-sql-text", lookupBySQLText),
            ("read-one", readOne),
            ("async-read", { try readFromTasks($0, tasks: 1) }),
            ("async-read-busy", { try readFromTasks($0, tasks: 8) }),
            ("pool-2-readers-writer", twoReadersAndAWriter),
            ("fts-search", searchText),
            ("json-extract", extractJSON),
            ("json-codable", decodeJSON),
        ]
        #if KEYED
            workloads += [
                ("pool-open-second", openSecond),
                ("keyed-fetch-mixed", { try fetchMixed(openKeyed($0), $0) }),
                ("keyed-insert-mixed", { try insertMixed(openKeyed($0), $0.rows(KEYED_INSERT_ROWS)) }),
            ]
        #endif
        try serve(workloads + diskWorkloads())
    }
}

#if KEYED
    func openKeyed(_ settings: Settings) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.usePassphrase("x'\(KEY_HEX)'") }
        return try DatabaseQueue(path: "\(settings.folder)/keyed.db", configuration: configuration)
    }
#endif

extension DatabaseQueue {
    func fill(_ create: String, _ insert: String, _ rows: Int) throws {
        try write { db in
            try db.execute(sql: create)
            try db.execute(sql: insert, arguments: ["rows": rows])
        }
    }
}
