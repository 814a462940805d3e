/* The data of every variant: the same tables with the same rows, filled by SQL alone.
 *
 * Swift imports a macro only if it is a single literal: hence the long lines. */
#ifndef WORKLOADS_H
#define WORKLOADS_H

/* Rows at full size; `--scale N` divides them. */
#define FETCH_ROWS 200000
#define INSERT_INTS_ROWS 50000
#define INSERT_MIXED_ROWS 200000
#define KEYED_INSERT_ROWS 50000
#define LOOKUPS 200000
#define TEXT_ROWS 20000
#define SEARCHES 200
#define JSON_ROWS 100000
#define READS 20000
#define ASYNC_READS 10000
#define DISK_COMMITS 200
#define DISK_QUICK_COMMITS 2000
#define SHARED_ROWS 20000
#define SHARED_SCANS 10
#define SHARED_WRITES 200
#define SHARED_INSERTS 50
#define OBSERVED_WRITES 20000
#define OBSERVERS 100

#define CREATE_INTS "CREATE TABLE ints(i0 INTEGER, i1 INTEGER, i2 INTEGER, i3 INTEGER, i4 INTEGER, i5 INTEGER, i6 INTEGER, i7 INTEGER, i8 INTEGER, i9 INTEGER)"
#define FILL_INTS "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows) INSERT INTO ints SELECT i, i + 1, i * 7, i * 31, i * 1009 % 1000003, i & 255, -i, i * 65537, i % 10, i / 3 FROM n"
#define SELECT_INTS "SELECT i0, i1, i2, i3, i4, i5, i6, i7, i8, i9 FROM ints"
#define INSERT_INTS "INSERT INTO ints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define CHECK_INTS "SELECT coalesce(sum(i0 + i9), 0) FROM ints"
#define CLEAR_INTS "DELETE FROM ints"

/* A title of 60 ASCII characters and a body of 40 bytes. */
#define CREATE_MIXED "CREATE TABLE mixed(id INTEGER PRIMARY KEY, score REAL, title TEXT, body BLOB)"
#define FILL_MIXED "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows) INSERT INTO mixed SELECT i, i * 0.5, printf('title %054d', i), CAST(printf('%040d', i * 31) AS BLOB) FROM n"
#define SELECT_MIXED "SELECT id, score, title, body FROM mixed"
#define SELECT_MIXED_BY_ID "SELECT id, score, title, body FROM mixed WHERE id = ?"
#define INSERT_MIXED "INSERT INTO mixed VALUES (?, ?, ?, ?)"
#define UPSERT_MIXED "INSERT INTO mixed VALUES (?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET score = excluded.score, title = excluded.title, body = excluded.body"
#define UPDATE_MIXED "UPDATE mixed SET score = ? WHERE id = ?"
#define CHECK_MIXED "SELECT coalesce(sum(id + CAST(score AS INTEGER) + length(title) + length(body)), 0) FROM mixed"
#define CLEAR_MIXED "DELETE FROM mixed"
#define TITLE_TEXT "a title of exactly sixty ASCII characters, no more, no less."

/* Texts of forty words out of 5,000. */
#define CREATE_TEXTS "CREATE VIRTUAL TABLE texts USING fts5(body)"
#define FILL_TEXTS "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows), k(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM k WHERE j < 39) INSERT INTO texts(body) SELECT (SELECT group_concat('word' || ((i * 131 + j * j * 7919 + i * j * 17) % 5000), ' ') FROM k) FROM n"
#define SEARCH_TEXTS "SELECT rowid, rank, snippet(texts, 0, '[', ']', '…', 16) FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"

#define CREATE_JSON "CREATE TABLE json(doc)"
#define FILL_JSON "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows) INSERT INTO json SELECT json_object('id', i, 'name', printf('name %d', i), 'score', i * 0.5, 'tags', json_array('a', 'b', 'c'), 'place', json_object('lat', i * 0.25, 'lon', -1.5)) FROM n"
#define FILL_JSONB "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows) INSERT INTO json SELECT jsonb_object('id', i, 'name', printf('name %d', i), 'score', i * 0.5, 'tags', json_array('a', 'b', 'c'), 'place', json_object('lat', i * 0.25, 'lon', -1.5)) FROM n"
#define EXTRACT_JSON "SELECT doc ->> '$.name' FROM json"
#define SELECT_JSON "SELECT doc FROM json"

/* 500 talks with 400 lines each, at full size. */
#define TALK_LINES 200000
#define CREATE_TALKS "CREATE TABLE talk(id INTEGER PRIMARY KEY, name TEXT)"
#define CREATE_LINES "CREATE TABLE line(id INTEGER PRIMARY KEY, talk INTEGER, at INTEGER, title TEXT)"
#define INDEX_LINES "CREATE INDEX line_talk ON line(talk, at)"
#define FILL_TALKS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO talk SELECT i, 'talk ' || i FROM n"
#define FILL_LINES "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows) INSERT INTO line SELECT i, i % 500 + 1, i * 7919 % 200003, printf('line %054d', i) FROM n"
#define SELECT_LATEST "SELECT t.id, t.name, l.id, l.talk, l.at, l.title FROM talk AS t JOIN line AS l ON l.id IN (SELECT id FROM line WHERE talk = t.id ORDER BY at DESC LIMIT ?)"

/* One row each time. */
#define SELECT_SCORE "SELECT id FROM mixed WHERE id = ?"

/* Written to while `mixed` is read. */
#define CREATE_SHARED "CREATE TABLE shared(id INTEGER PRIMARY KEY, title TEXT)"
#define INSERT_SHARED "INSERT INTO shared(title) VALUES (?)"
#define COUNT_SHARED "SELECT count(*) FROM shared"
#define CLEAR_SHARED "DELETE FROM shared"

/* A raw key, as SQLCipher's own syntax has it. */
#define KEY_HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

/* The n-th key looked up: all over the table, each variant in the same order. */
static inline long long lookup_key(long long n, long long rows) { return n * 7919 % rows; }

#endif
