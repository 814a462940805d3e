import SQLCipher

var db: OpaquePointer?
guard sqlite3_open(CommandLine.arguments[1], &db) == SQLITE_OK, sqlite3_key(db, "correct horse", 13) == SQLITE_OK,
      sqlite3_exec(db, "CREATE TABLE note(title)", nil, nil, nil) == SQLITE_OK, sqlite3_close(db) == SQLITE_OK
else { fatalError(String(cString: sqlite3_errmsg(db))) }
print(String(cString: sqlite3_libversion()))
