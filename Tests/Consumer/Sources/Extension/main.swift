import CExtension
import SQLCipherKit

let db = try Connection(.file(CommandLine.arguments[1]), key: .passphrase("correct horse"))
try db.register(.entryPoint(sqlite3_twice_init))
print(try db.fetchOne(Int.self, "SELECT twice(21)") ?? 0)
