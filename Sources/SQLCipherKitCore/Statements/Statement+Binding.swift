/// Hand-written `execute(binding:)` and `fetchOne(_:binding:)` for common numbers of values.
///
/// A parameter pack would cover all of them, and does so for larger numbers. But Swift 6.3 does not specialise it: 10 hand-written
/// values take 0.14 µs, 11 values in a pack take 1.2 µs.

/// Binds values in order.
@usableFromInline
struct Binder: ~Copyable {
    @usableFromInline let handle: OpaquePointer
    @usableFromInline let profile: ValueProfile
    @usableFromInline var count: Int32 = 0

    @inlinable
    @inline(__always)
    init(_ handle: OpaquePointer, _ profile: ValueProfile) {
        self.handle = handle
        self.profile = profile
    }

    @inlinable
    @inline(__always)
    mutating func put<T: SQLValueConvertible>(_ value: T) throws(DatabaseError) {
        count &+= 1
        try Statement.Parameter(handle, count, profile).put(value)
    }
}

extension Statement {
    // Each method begins and ends the use itself: a closure around the values, or a `Binder` that holds the statement, would take
    // about a third more instructions.

    @inlinable
    @inline(__always)
    func run(_ binder: borrowing Binder) throws(DatabaseError) {
        try expectParameters(Int(binder.count), binder.handle)
        try drain(binder.handle)
    }

    /// Runs the statement with this value for its parameter.
    @inlinable
    public func execute<A: SQLValueConvertible>(binding a: A) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<A: SQLValueConvertible, B: SQLValueConvertible>(binding a: A, _ b: B) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C, _ d: D) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C, _ d: D, _ e: E) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible,
        F: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try binder.put(f)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible,
        F: SQLValueConvertible, G: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try binder.put(f); try binder.put(g)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible,
        F: SQLValueConvertible, G: SQLValueConvertible, H: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try binder.put(f); try binder.put(g); try binder.put(h)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible,
        F: SQLValueConvertible, G: SQLValueConvertible, H: SQLValueConvertible, I: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try binder.put(f); try binder.put(g); try binder.put(h); try binder.put(i)
        try run(binder)
    }

    /// Runs the statement with these values for its parameters, in order.
    @inlinable
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible,
        F: SQLValueConvertible, G: SQLValueConvertible, H: SQLValueConvertible, I: SQLValueConvertible, J: SQLValueConvertible
    >(binding a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F, _ g: G, _ h: H, _ i: I, _ j: J) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try binder.put(f); try binder.put(g); try binder.put(h); try binder.put(i); try binder.put(j)
        try run(binder)
    }

    /// Returns the first column of the first row, with this value for the parameter; nil if there is no row or the value is NULL.
    @inlinable
    public func fetchOne<T: SQLValueConvertible, A: SQLValueConvertible>(
        _ type: T.Type = T.self, binding a: A
    ) throws(DatabaseError) -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try Parameter(handle, 1, connection.profile).put(a)
        try expectParameters(1, handle)
        guard try advance(handle) else { return nil }
        let value = try Row.Column(handle, 0).readUnlessNull(as: T.self)
        try finish(handle)
        return value
    }

    /// Returns the first row as a record, with this value for the parameter; nil if there is no row.
    @inlinable
    public func fetchOne<T: SQLRow, A: SQLValueConvertible>(_ type: T.Type = T.self, binding a: A) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try Parameter(handle, 1, connection.profile).put(a)
        try expectParameters(1, handle)
        guard try advance(handle) else { return nil }
        let value = try T(row: Row(handle, names(handle)))
        try finish(handle)
        return value
    }
}
