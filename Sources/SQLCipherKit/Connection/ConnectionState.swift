/// What a room keeps for a connection. It is made when the room first asks for it, and dropped when the connection closes.
///
/// This is how a room stores state without a stored property on ``Connection``: it declares a class and asks for it with
/// ``Connection/state(_:)``.
protocol ConnectionState: AnyObject {
    init()

    /// Ends what has to end before the connection's handle does.
    func connectionCloses()
}

extension ConnectionState {
    func connectionCloses() {}
}

/// The states of a connection. There are a handful at most, so that comparing types in order beats hashing them.
struct ConnectionStates {
    private var states: [(type: ObjectIdentifier, state: any ConnectionState)] = []

    subscript<State: ConnectionState>(type: State.Type) -> State? {
        let wanted = ObjectIdentifier(type)
        for entry in states where entry.type == wanted { return unsafeDowncast(entry.state, to: type) }
        return nil
    }

    mutating func add<State: ConnectionState>(_ state: State) { states.append((ObjectIdentifier(State.self), state)) }

    /// Ends all of them. A state may ask for another one meanwhile, which is ended as well.
    mutating func removeAll() {
        while let last = states.popLast() { last.state.connectionCloses() }
    }
}

extension Connection {
    /// What a room keeps for this connection; made now if there is none yet.
    func state<State: ConnectionState>(_ type: State.Type) -> State {
        if let state = states[type] { return state }
        let state = State()
        states.add(state)
        return state
    }
}
