import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import TestSupport

extension Connection {
    /// A query's statement and its values, as they would be shown.
    func text(_ request: some SQLRequest) throws -> String { try sql(of: request).text }
}

// Types with a description.

struct Author: SQLRecord, Equatable {
    var id: Int64?
    var name: String
    var country: String?

    static let table = SQLTable(of: Author.self) {
        $0.id.primaryKey()
        $0.name.unique()
        $0.country
    }
}

struct Book: SQLRecord, Equatable {
    var id: Int64?
    var title: String
    var author: Int64?
    var pages = 100

    static let table = SQLTable(of: Book.self) {
        $0.id.primaryKey()
        $0.title
        $0.author.references(Author.self, onDelete: .cascade)
        $0.pages
        SQLIndex("book_author", on: [$0.author])
    }
}

struct Review: SQLRecord, Equatable {
    var id: Int64?
    var book: Int64
    var stars: Int

    static let table = SQLTable(of: Review.self) {
        $0.id.primaryKey()
        $0.book.references(Book.self)
        $0.stars
    }
}

/// A type without one.
struct Note: SQLRecord, Equatable {
    var id: Int64?
    var title: String
    var stars: Int?
    var tags: [String] = []

    static let creation: SQL =
        "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, stars INT DEFAULT 3, tags TEXT NOT NULL DEFAULT '[]')"
}
