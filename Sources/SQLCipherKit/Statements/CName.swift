extension String {
    /// A name for a function of C, which would end it at a NUL character and so mean another one.
    /// - Parameter what: what an error calls it.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a NUL character.
    func cName(_ what: String) throws(DatabaseError) -> String {
        if utf8.contains(0) { throw .invalidArgument("\(what) contains a NUL character") }
        return self
    }
}
