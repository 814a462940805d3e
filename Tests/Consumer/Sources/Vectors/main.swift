import SQLCipherKit
import SQLCipherKitVectors

let db = try Connection(.file(CommandLine.arguments[1]), key: .passphrase("correct horse"))
try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
try db.execute("INSERT INTO note VALUES (1, 'Foxes'), (2, 'Owls')")
try db.create(VectorTable("note_vectors", dimensions: 4, content: .external(table: "note", columns: ["title"])))
let vectors = try db.vectors("note_vectors")
try vectors.set([1, 0, 0, 0], for: 1)
try vectors.set([0, 1, 0, 0], for: 2)
print(try vectors.search([0, 0.9, 0.1, 0], limit: 1).map(\.rowID))
