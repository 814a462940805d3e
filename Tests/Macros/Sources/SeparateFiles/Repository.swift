import SQLCipherKit

struct Repository<Element: SQLRecord> {
    let every = Element.all

    func all(_ db: Connection) throws -> [Element] { try db.fetchAll(every) }
}

struct Labels {
    let db: Connection
    var artists = Repository<Artist>()
    var whole = Label.including(Label.artistOf)

    func names() throws -> [String] { try db.fetchAll(Label.select { $0.name }) }
    func label(_ id: Int64) throws -> Label? { try db.fetchOne(Label.self, id: id) }
    func everything() throws -> [Label] { try db.fetchAll(Label.self, "SELECT * FROM label") }

    func add(_ name: String) throws -> Label {
        var label = Label(name: name)
        try db.insert(&label)
        return label
    }

    func makeTables() throws {
        try db.create(Artist.table)
        try db.create(Label.table)
    }
}
