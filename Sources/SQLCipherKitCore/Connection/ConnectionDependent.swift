/// An SQLite object, other than a statement, that has to end before its connection does. It keeps its connection alive.
package protocol ConnectionDependent: AnyObject {
    /// True if it ends with the closure that the connection is lent to, because it holds a transaction open.
    var endsWithLoan: Bool { get }
    /// Ends the object: from now on every call throws.
    func connectionCloses()
}

struct WeakDependent {
    weak var object: (any ConnectionDependent)?
}

extension Connection {
    package func register(_ dependent: any ConnectionDependent) {
        dependents[ObjectIdentifier(dependent)] = WeakDependent(object: dependent)
    }

    package func unregister(_ dependent: any ConnectionDependent) { dependents[ObjectIdentifier(dependent)] = nil }

    func endDependentsOfLoan() {
        for dependent in dependents.values where dependent.object?.endsWithLoan == true { dependent.object?.connectionCloses() }
    }
}
