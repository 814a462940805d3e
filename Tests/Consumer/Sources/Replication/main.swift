import SQLCipherKit
import SQLCipherKitReplication

let path = CommandLine.arguments[1], key = try DatabaseKey.passphrase("correct horse")
let store = try FolderStore(path + "-store")
let pool = try DatabasePool(.file(path), key: key)
let replica = try await Replicator(of: pool, in: store)
try pool.write { db in try db.execute("CREATE TABLE note AS SELECT 'Foxes' AS title") }
try await replica.waitUntilStored()
await replica.stop()
try await Replicator.restore(to: path + "-copy", from: store, key: key)
print(try Connection(.file(path + "-copy"), key: key).fetchAll(String.self, "SELECT title FROM note"))
