import SQLCipherKitCore

/// The path from the records of one table to the associated records of another.
enum AssociationPath: Sendable {
    case direct(AssociationLink)
    /// Through the rows of a third table, which link the two.
    case through(SQLTable, AssociationLink, AssociationLink)
}

/// A step of a path, from the near table to the far table.
struct AssociationLink: Sendable {
    enum Direction { case farRefersToNear, nearRefersToFar, either }

    /// The name of a column that a declaration names by a property.
    typealias Name = Result<String, DatabaseError>

    let direction: Direction
    var referring: Name?
    var referenced: Name?

    /// Two columns that are equal in associated rows.
    typealias Pair = (near: String, far: String)

    /// The values of a near table's columns in the form in which the far table stores them.
    static func values(_ pairs: [Pair], near: SQLTable, far: SQLTable, _ sql: [SQL]) -> [SQL] {
        zip(pairs, sql).map { near.converted($1, $0.near, to: far, $0.far) }
    }

    /// The condition that a row of a far table belongs to a row of a near table.
    func condition(near: SQLClauses.Side, far: SQLClauses.Side, _ db: Connection?) throws -> SQL {
        let pairs = try columns(near: near.table, far: far.table, db)
        let own = pairs.map { "\(identifier: near.alias).\(identifier: $0.near)" as SQL }
        return SQLClauses.equal(far.alias, pairs.map(\.far), Self.values(pairs, near: near.table, far: far.table, own))
    }

    /// The condition that rows of a third table that meet a condition link to the row of a table.
    static func linked(
        _ pairs: [Pair], _ alias: String, _ target: SQLTable, through table: SQLTable, as link: String, where condition: SQL
    ) -> SQLPredicate {
        let own = pairs.map { "\(identifier: alias).\(identifier: $0.far)" as SQL }
        let linked = values(pairs, near: table, far: target, pairs.map { "\(identifier: link).\(identifier: $0.near)" })
        let row: SQL = own.count == 1 ? own[0] : "(\(list: own))"
        return SQLPredicate(
            """
            \(row) IN (SELECT \(list: linked) FROM \(raw: table.qualifiedName) AS \(identifier: link) WHERE \(condition))
            """, .comparison)
    }

    /// Finds the columns that are equal in associated rows in the declaration, the tables' descriptions or the database.
    /// - Parameter db: the connection; nil to use only descriptions.
    func columns(near: SQLTable, far: SQLTable, _ db: Connection?) throws -> [Pair] {
        var found: [ForeignKeyLink] = []
        if direction != .nearRefersToFar { found += try links(far, near, db, isNearChild: false) }
        // If a table refers to itself, both directions have the same keys.
        if direction == .nearRefersToFar || direction == .either && !SQLClauses.isSame(near, far) {
            found += try links(near, far, db, isNearChild: true)
        }
        guard found.count == 1, let only = found.first else {
            if found.isEmpty {
                throw DatabaseError.misuse("no foreign key links \(near.name) with \(far.name): name the property that refers")
            }
            let keys = found.map(\.text).joined(separator: "; ")
            throw DatabaseError.misuse(
                "several foreign keys link \(near.name) with \(far.name): name the property that refers (\(keys))"
            )
        }
        return only.pairs.map { only.isNearChild ? (near: $0.child, far: $0.parent) : (near: $0.parent, far: $0.child) }
    }

    private func links(
        _ child: SQLTable, _ parent: SQLTable, _ db: Connection?, isNearChild: Bool
    ) throws -> [ForeignKeyLink] {
        guard let referring = try referring?.get() else {
            return try SQLClauses.links(from: child, to: parent, db, isNearChild: isNearChild)
        }
        let text = "\(child.name)(\(referring)) to \(parent.name)"
        func link(_ referenced: String) -> [ForeignKeyLink] {
            [ForeignKeyLink(text: text, pairs: [(child: referring, parent: referenced)], isNearChild: isNearChild)]
        }
        if let referenced = try referenced?.get() { return link(referenced) }
        let declared = try SQLClauses.links(from: child, to: parent, db, isNearChild: isNearChild)
        let keys = declared.filter { $0.pairs.contains { $0.child.isSameName(as: referring) } }
        if let key = keys.first(where: { $0.pairs.count == 1 }) ?? (keys.count == 1 ? keys.first : nil) { return [key] }
        if !keys.isEmpty { return keys }
        // A column without a declared foreign key refers to the primary key.
        let key = try SQLClauses.primaryKey(of: parent, db)
        guard key.count == 1 else {
            throw DatabaseError.misuse("the primary key of \(parent.name) has \(key.count) columns: name them with to:")
        }
        return link(key[0])
    }
}

/// A foreign key between two tables, with the names of the columns that it refers to.
struct ForeignKeyLink {
    let text: String
    let pairs: [(child: String, parent: String)]
    var isNearChild = false
}

extension SQLTable {
    /// The name of a property's column, for a declaration; nil for `\.self`, which stands for no property.
    func linkName<Root: SQLRecord>(_ keyPath: PartialKeyPath<Root> & Sendable) -> AssociationLink.Name? {
        if keyPath as AnyKeyPath == \Root.self { return nil }
        if let name = columnName(partial: keyPath) { return .success(name) }
        return .failure(PropertyName.refusal(keyPath))
    }
}
