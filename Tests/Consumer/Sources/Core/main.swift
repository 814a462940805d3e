import SQLCipherKitCore

let db = try Connection(.file(CommandLine.arguments[1]), key: .passphrase("correct horse"))
print(try db.fetchOne(String.self, "SELECT 'one connection'") ?? "")
