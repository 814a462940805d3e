import SQLCipherKitCore
import SQLCipherKitSearch

extension FullTextSearch {
    /// The search with properties that the initialiser does not set.
    func with(_ change: (inout FullTextSearch) -> Void) -> FullTextSearch {
        var search = self
        change(&search)
        return search
    }
}
