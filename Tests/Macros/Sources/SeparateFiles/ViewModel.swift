import Foundation
import SQLCipherKit

final class ViewModel {
    var labels: [Label] = []
    var query = Label.filter { $0.stars > 0 }.order { $0.name }
    let names = Label.select { $0.name }
    let table = Label.table
    let orders = Shop.Order.all
    let coded = try? JSONEncoder().encode(Label(id: 1, name: "coded"))
    let store = Repository<Artist>()
    lazy var first = Label.all.limit(3)

    func load(_ db: Connection, _ query: SQLQuery<Label> = Label.order { $0.name }) throws {
        labels = try db.fetchAll(query.best().limit(10))
    }

    func pairs(_ db: Connection) throws -> [String] {
        try db.fetchAll(Artist.join(Label.self)).map { artist, label in "\(artist.name): \(label.name)" }
    }
}

let shownFirst = Label.filter { $0.name == "x" }.limit(1)
