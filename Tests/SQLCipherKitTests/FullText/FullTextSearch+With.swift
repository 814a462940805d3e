import SQLCipherKit

extension FullTextSearch {
    /// The search with what the initialiser does not ask for.
    func with(_ change: (inout FullTextSearch) -> Void) -> FullTextSearch {
        var search = self
        change(&search)
        return search
    }
}
