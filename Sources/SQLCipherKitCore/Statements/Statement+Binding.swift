/// `execute(binding:)` and `fetchOne(_:binding:)` for common numbers of values.
///
/// A parameter pack would cover all of them, and does so for larger numbers. But Swift 6.3 does not specialise it: 10 values of
/// their own take 0.14 µs, 11 values in a pack take 1.2 µs.

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
        if T.self == Statement._NoValue.self { return }
        count &+= 1
        try Statement._Parameter(handle, count, profile).put(value)
    }
}

extension Statement {
    /// What `execute(binding:)` for ten values takes where one is left out. It is never bound.
    public struct _NoValue: SQLValueConvertible {
        @inlinable
        public init() {}
        public init?(sqlValue: SQLValue) { return nil }
        public var sqlValue: SQLValue { .null }
    }

    // Each method begins and ends the use itself: a closure around the values, or a `Binder` that holds the statement, would take
    // about a third more instructions.

    @inlinable
    @inline(__always)
    func run(_ binder: borrowing Binder) throws(DatabaseError) {
        try expectParameters(Int(binder.count), binder.handle)
        try drain(binder.handle)
    }

    /// Runs the statement with these values for its parameters, in order. Faster than an array, because nothing is boxed.
    ///
    /// Up to ten values are fastest; beyond that, each value costs some nanoseconds more.
    @inlinable
    @_documentation(visibility: private)
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible,
        F: SQLValueConvertible, G: SQLValueConvertible, H: SQLValueConvertible, I: SQLValueConvertible, J: SQLValueConvertible
    >(
        binding a: A, _ b: B = _NoValue(), _ c: C = _NoValue(), _ d: D = _NoValue(), _ e: E = _NoValue(), _ f: F = _NoValue(),
        _ g: G = _NoValue(), _ h: H = _NoValue(), _ i: I = _NoValue(), _ j: J = _NoValue()
    ) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try binder.put(f); try binder.put(g); try binder.put(h); try binder.put(i); try binder.put(j)
        try run(binder)
    }

    /// Returns the first column of the first row, with this value for the parameter; nil if there is no row or the value is NULL.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<T: SQLValueConvertible, A: SQLValueConvertible>(
        _ type: T.Type = T.self, binding a: A
    ) throws(DatabaseError) -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try _Parameter(handle, 1, connection.profile).put(a)
        try expectParameters(1, handle)
        guard try advance(handle) else { return nil }
        let value = try Row._Column(handle, 0).readUnlessNull(as: T.self)
        try finish(handle)
        return value
    }

    /// Returns the first row as a record, with this value for the parameter; nil if there is no row.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<T: SQLRow, A: SQLValueConvertible>(_ type: T.Type = T.self, binding a: A) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try _Parameter(handle, 1, connection.profile).put(a)
        try expectParameters(1, handle)
        guard try advance(handle) else { return nil }
        let value = try T(row: Row(handle, names(handle)))
        try finish(handle)
        return value
    }
}
