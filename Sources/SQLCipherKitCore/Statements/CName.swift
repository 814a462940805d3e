extension String {
    /// The name for a C function, which would truncate it at a NUL character and so use a different name.
    /// - Parameter what: how an error message refers to the name.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a NUL character.
    package func cName(_ what: String) throws -> String {
        if utf8.contains(0) { throw DatabaseError.invalidArgument("\(what) contains a NUL character") }
        return self
    }
}
