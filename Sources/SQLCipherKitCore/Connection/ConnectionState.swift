/// The state that a room keeps for a connection. It is created when the room first asks for it, and dropped when the connection
/// closes.
/// A room stores state without a stored property on ``Connection``: it declares a class and asks for it with
/// ``Connection/state(_:)``.
@usableFromInline
package protocol ConnectionState: AnyObject {
    init()

    /// Ends what has to end before the connection's handle is closed.
    func connectionCloses()
}

extension ConnectionState {
    package func connectionCloses() {}
}

/// The states of a connection. There are only a few, so comparing types in order is faster than hashing them.
@usableFromInline
struct ConnectionStates {
    @usableFromInline var states: [(type: ObjectIdentifier, state: any ConnectionState)] = []

    @inlinable
    subscript<State: ConnectionState>(type: State.Type) -> State? {
        let wanted = ObjectIdentifier(type)
        for entry in states where entry.type == wanted { return unsafeDowncast(entry.state, to: type) }
        return nil
    }

    @inlinable
    mutating func add<State: ConnectionState>(_ state: State) { states.append((ObjectIdentifier(State.self), state)) }

    /// Ends all of them. If a state asks for another one in the meantime, that one is ended too.
    mutating func removeAll() { while let last = states.popLast() { last.state.connectionCloses() } }
}

extension Connection {
    /// Returns the state that a room keeps for this connection; creates it if there is none yet.
    @inlinable
    package func state<State: ConnectionState>(_ type: State.Type) -> State {
        if let state = states[type] { return state }
        let state = State()
        states.add(state)
        return state
    }
}
