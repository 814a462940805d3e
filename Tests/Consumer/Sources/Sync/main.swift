import SQLCipherKit
import SQLCipherKitSync

let laptop = try Connection(.file(CommandLine.arguments[1]), key: .passphrase("correct horse"))
let phone = try Connection(.memory)
for db in [laptop, phone] { try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)") }
let changes = try laptop.main.recordingChanges { db in try db.execute("INSERT INTO note(title) VALUES ('Foxes')") }
try changes.apply(to: phone) { _ in .omit }
print(try phone.fetchAll(String.self, "SELECT title FROM note"))
