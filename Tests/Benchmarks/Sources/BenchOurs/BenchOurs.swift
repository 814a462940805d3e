import Foundation
import Harness
import SQLCipherKit
import Workloads

@main
enum BenchOurs {
    static func main() throws {
        try serve([
            ("fetch-ints-index", fetchIntsByIndex),
            ("fetch-ints-name", fetchIntsByName),
            ("fetch-ints-struct", fetchIntsAsStruct),
            ("fetch-ints-codable", fetchIntsAsCodable),
            ("fetch-mixed", { try fetchMixed(open(), [UInt8].self, $0) }),
            ("fetch-mixed-data", { try fetchMixed(open(), Data.self, $0) }),
            ("fetch-mixed-codable", fetchMixedAsCodable),
            ("insert-ints", insertInts),
            ("insert-mixed", { try insertMixed(open(), mixedBody, $0.rows(INSERT_MIXED_ROWS)) }),
            ("insert-mixed-data", { try insertMixed(open(), Data(mixedBody), $0.rows(INSERT_MIXED_ROWS)) }),
            ("insert-codable-ints", insertCodableInts),
            ("insert-codable-mixed", insertCodableMixed),
            ("fetch-plain-ints", fetchPlainInts),
            ("fetch-plain-mixed", fetchPlainMixed),
            ("fetch-plain-sql", fetchPlainIntsBySQL),
            ("insert-plain-ints", insertPlainInts),
            ("insert-plain-mixed", insertPlainMixed),
            ("lookup-plain-id", { try lookUpPlain($0) { db, id in try db.fetchOne(PlainMixed.self, id: id) } }),
            ("lookup-plain-query", { try lookUpPlain($0) { db, id in try db.fetchOne(PlainMixed.filter { $0.id == id }) } }),
            ("including-latest", includeLatest),
            ("including-latest-3", { try includeLatest($0, 3) }),
            ("including-latest-20", { try includeLatest($0, 20) }),
            ("fetch-ints-record", fetchIntsAsRecords),
            ("fetch-mixed-record", fetchMixedAsRecords),
            ("insert-record-ints", insertIntRecords),
            ("insert-record-mixed", insertMixedRecords),
            ("lookup-record-id", { try lookUpRecords($0) { db, id in try db.fetchOne(RecordMixed.self, id: id) } }),
            ("lookup-record-query", { try lookUpRecords($0) { db, id in try db.fetchOne(RecordMixed.filter { $0.id == id }) } }),
            ("update-record", updateRecords),
            ("insert-plain-returning", { try insertMixed($0, plainMixed) { db, record in try db.insert(&record) } }),
            ("insert-plain-all", { try insertAllMixed($0, plainMixed) }),
            ("upsert-plain-returning", { try upsertMixed($0, plainMixed) { db, record in try db.upsert(&record) } }),
            ("insert-record-returning", { try insertMixed($0, recordMixed) { db, record in try db.insert(&record) } }),
            ("insert-record-all", { try insertAllMixed($0, recordMixed) }),
            ("upsert-record-returning", { try upsertMixed($0, recordMixed) { db, record in try db.upsert(&record) } }),
            ("write-unobserved", { try writeObserved($0, observers: 0) }),
            ("write-observed", { try writeObserved($0, observers: Int(OBSERVERS)) }),
            ("lookup-pk", lookupByPrimaryKey),
            ("lookup-pk-text", {
                try lookupByPrimaryKeyInText($0) { db, id in
                    try db.fetchOne(Mixed.self, "SELECT id, score, title, body FROM mixed WHERE id = \(id)")
                }
            }),
            ("lookup-pk-arguments", {
                try lookupByPrimaryKeyInText($0) { db, id in
                    try db.fetchOne(Mixed.self, "SELECT id, score, title, body FROM mixed WHERE id = ?", [id])
                }
            }),
            ("lookup-sql-text", lookupBySQLText),
            ("read-one", readOne),
            ("read-one-pool", readOneFromPool),
            ("async-read-main", readFromMainActor),
            ("async-read", { try readFromTasks($0, tasks: 1) }),
            ("async-read-busy", { try readFromTasks($0, tasks: 8) }),
            ("pool-2-readers-writer", twoReadersAndAWriter),
            ("pool-open-second", openSecond),
            ("open-slots", openWithSlots),
            ("fts-search", searchText),
            ("json-extract", extractJSON),
            ("json-codable", decodeJSON),
            ("keyed-fetch-mixed", { try fetchMixed(openKeyed($0), [UInt8].self, $0) }),
            ("keyed-insert-mixed", { try insertMixed(openKeyed($0), mixedBody, $0.rows(KEYED_INSERT_ROWS)) }),
        ] + diskWorkloads())
    }
}

func open() throws -> Connection { try Connection(.memory) }

func openKeyed(_ settings: Settings) throws -> Connection {
    try Connection(.file("\(settings.folder)/keyed.db"), key: .raw(Array(0..<32)))
}

extension Connection {
    func fill(_ create: String, _ insert: String, _ rows: Int) throws {
        try execute(SQL(raw: create))
        try execute(SQL(raw: insert), ["rows": rows])
    }
}
