import SQLCipherKit

extension Label {
    static let byName = order { $0.name }
    static let few = Label.limit(3)
    static let everything = all
    static let names = select { $0.name }
    static let artistOf = belongsTo(Artist.self)
    static var best: SQLQuery<Label> { filter { $0.stars > 3 } }
}

extension Artist {
    static let labels = hasMany(Label.self)
    static let best = labels.filter { $0.stars > 3 }.order { $0.name }
}

extension SQLQuery where Record == Label {
    func best() -> Self { filter { $0.stars > 3 } }
}

extension Shop.Order {
    static let pairs = join(Label.self) { order, label in order.label == label.id }
}
