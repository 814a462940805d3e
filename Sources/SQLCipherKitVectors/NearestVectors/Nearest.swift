/// The nearest of the vectors that were offered: a heap with the farthest of them on top.
struct Nearest {
    struct Entry: Comparable {
        var distance: Float
        /// The row id, or the slot where only bits have been compared.
        var id: Int64

        static func < (a: Entry, b: Entry) -> Bool { a.distance == b.distance ? a.id < b.id : a.distance < b.distance }
    }

    private let limit: Int
    private var heap: [Entry] = []

    init(limit: Int) { self.limit = limit }

    /// The distance that an entry may have at most to be among the nearest.
    var bound: Float { heap.count < limit ? .infinity : heap[0].distance }

    func wants(_ entry: Entry) -> Bool { heap.count < limit || entry < heap[0] }

    /// Takes an entry that is wanted.
    mutating func take(_ entry: Entry) {
        if heap.count < limit {
            heap.append(entry)
            var child = heap.count - 1
            while child > 0, heap[(child - 1) / 2] < heap[child] {
                heap.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
            return
        }
        heap[0] = entry
        var parent = 0
        while true {
            let (left, right) = (2 * parent + 1, 2 * parent + 2)
            var largest = parent
            if left < heap.count, heap[largest] < heap[left] { largest = left }
            if right < heap.count, heap[largest] < heap[right] { largest = right }
            if largest == parent { return }
            heap.swapAt(parent, largest)
            parent = largest
        }
    }

    /// The nearest first.
    var sorted: [Entry] { heap.sorted() }
}
