@_spi(Reflection) import Swift
import SQLCipherKitCore

/// A stored property of a type, as the type's reflection metadata has it. No value is needed.
struct StoredProperty {
    let name: String
    let type: any Any.Type
    private let size: Int

    /// The stored properties, in order; empty without reflection metadata.
    static func all(of type: any Any.Type) -> [StoredProperty] {
        var found: [StoredProperty] = []
        // 1 stands for a class.
        for options in [0, 1] as [UInt32] {
            _ = _forEachField(of: type, options: _EachFieldOptions(rawValue: options)) { name, _, type, _ in
                found.append(StoredProperty(String(cString: name), type))
                return true
            }
        }
        return found
    }

    private init(_ name: String, _ type: any Any.Type) {
        func size<T>(_ type: T.Type) -> Int { MemoryLayout<T>.size }
        // The key under which a wrapper of this package is coded.
        let isWrapped = type is any DefaultedProperty.Type && name.hasTextPrefix("_")
        self.name = isWrapped ? String(name.dropFirst()) : name
        self.type = type
        self.size = _openExistential(type, do: size)
    }

    /// The property of a type of values that a key path describes by a name; nil if several could be meant. A property without a
    /// size has no place of its own: its key path is described as another property's, and another property's key path by its name.
    static func described(_ name: String, of wanted: any Any.Type, in root: any Any.Type) -> String? {
        let all = all(of: root)
        if all.isEmpty { return name }
        if StoredProperty("", wanted).size == 0 {
            let same = all.filter { $0.type == wanted }
            return same.count == 1 ? same[0].name : nil
        }
        let described = all.drop { !$0.name.isSameText(as: name) }
        return (described.first { $0.size > 0 } ?? described.first)?.name ?? name
    }
}

/// The wrapper ``ColumnDefault`` of any type.
protocol DefaultedProperty {}

extension ColumnDefault: DefaultedProperty {}
