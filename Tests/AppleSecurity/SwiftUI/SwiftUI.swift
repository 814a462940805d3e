// Of SwiftUI what the article "In an app" uses, so that its screens are compiled and run on Linux, with the parameters that Apple
// documents. It draws nothing: a view's body is evaluated under observation, its texts are noted, and its tasks run.
@_exported import Foundation
import Observation

/// The texts and controls of the views that were drawn last.
@MainActor public enum StandInScreen {
    public static var texts: [String] = []
    public static var actions: [String: () -> Void] = [:]
    public static var tasks: [@Sendable () async -> Void] = []
    public static var appearances: [() -> Void] = []
    public static var field: Binding<String>?
    /// The number of times that a view was evaluated.
    public static var drawings = 0
    static var destinations: [ObjectIdentifier: (any Hashable) -> (any View)?] = [:]

    /// Evaluates a view, and returns the texts that it shows. `changed` is called when something that it has read will change.
    @discardableResult
    public static func draw(_ view: some View, changed: @escaping @Sendable () -> Void = {}) -> [String] {
        (texts, actions, tasks, appearances, field) = ([], [:], [], [], nil)
        drawings += 1
        withObservationTracking { view.evaluate() } onChange: { changed() }
        return texts
    }

    /// The view that a link with a value leads to.
    public static func destination(of value: some Hashable) -> (any View)? {
        destinations[ObjectIdentifier(type(of: value))]?(value)
    }
}

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
    func evaluate()
}

extension View {
    public func evaluate() { body.evaluate() }

    public func searchable(text: Binding<String>) -> some View { Modified(content: self) { StandInScreen.field = text } }
    public func animation(_ animation: Animation?, value: some Equatable) -> some View { self }
    public func navigationTitle(_ title: String) -> some View { Modified(content: self) { StandInScreen.texts.append(title) } }
    public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View {
        Modified(content: self) { StandInScreen.tasks.append(action) }
    }
    public func onAppear(perform action: (() -> Void)? = nil) -> some View {
        Modified(content: self) { if let action { StandInScreen.appearances.append(action) } }
    }
    public func overlay(@ViewBuilder content: () -> Group) -> some View {
        let above = content()
        return Modified(content: self) { above.evaluate() }
    }
    public func toolbar(@ViewBuilder content: () -> Group) -> some View { overlay(content: content) }
    public func navigationDestination<D: Hashable>(for type: D.Type, @ViewBuilder destination: @escaping (D) -> Group) -> some View {
        Modified(content: self) {
            StandInScreen.destinations[ObjectIdentifier(type)] = { value in (value as? D).map(destination)?.views.first }
        }
    }
}

@MainActor @preconcurrency public protocol Scene {}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

/// A scene, and here a view as well.
public struct WindowGroup: Leaf, Scene {
    let content: () -> Group
    public init(@ViewBuilder content: @escaping () -> Group) { self.content = content }
    public func evaluate() { content().evaluate() }
}

extension Never: View {
    public var body: Never { return fatalError("no view is Never") }
}

public protocol Leaf: View where Body == Never {}

extension Leaf {
    public var body: Never { return fatalError("a stand-in has no body") }
}

struct Modified<Content: View>: Leaf {
    let content: Content
    let note: () -> Void
    func evaluate() {
        content.evaluate()
        note()
    }
}

public struct Group: Leaf {
    let views: [any View]
    public func evaluate() { for view in views { view.evaluate() } }
}

@resultBuilder @MainActor public enum ViewBuilder {
    public static func buildExpression(_ view: some View) -> [any View] { [view] }
    public static func buildBlock(_ views: [any View]...) -> [any View] { views.flatMap { $0 } }
    public static func buildOptional(_ views: [any View]?) -> [any View] { views ?? [] }
    public static func buildEither(first: [any View]) -> [any View] { first }
    public static func buildEither(second: [any View]) -> [any View] { second }
    public static func buildFinalResult(_ views: [any View]) -> Group { Group(views: views) }
}

public struct Text: Leaf {
    let text: String
    public init(_ text: String) { self.text = text }
    public func evaluate() { StandInScreen.texts.append(text) }
}

public struct ProgressView: Leaf {
    public init() {}
    public func evaluate() { StandInScreen.texts.append("…") }
}

public struct Button: Leaf {
    let title: String
    let action: @MainActor () -> Void
    public init(_ title: String, action: @escaping @MainActor () -> Void) { (self.title, self.action) = (title, action) }
    public func evaluate() { StandInScreen.actions[title] = action }
}

public struct List: Leaf {
    let rows: [any View]
    public init<Row: Identifiable>(_ rows: [Row], @ViewBuilder rowContent: (Row) -> Group) { self.rows = rows.map(rowContent) }
    public func evaluate() { for row in rows { row.evaluate() } }
}

public struct VStack: Leaf {
    let content: Group
    public init(@ViewBuilder content: () -> Group) { self.content = content() }
    public func evaluate() { content.evaluate() }
}

public struct NavigationStack: Leaf {
    let content: Group
    public init(@ViewBuilder root: () -> Group) { content = root() }
    public func evaluate() { content.evaluate() }
}

public struct NavigationLink: Leaf {
    let content: Group
    public init<P: Hashable>(value: P?, @ViewBuilder label: () -> Group) { content = label() }
    public func evaluate() { content.evaluate() }
}

public struct Animation: Sendable {
    public static let `default` = Animation()
}

@MainActor @propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    let get: () -> Value
    let set: (Value) -> Void
    public var wrappedValue: Value {
        get { get() }
        nonmutating set { set(newValue) }
    }
    public subscript<Part>(dynamicMember path: WritableKeyPath<Value, Part>) -> Binding<Part> {
        Binding<Part>(get: { wrappedValue[keyPath: path] }, set: { new in
            var whole = wrappedValue
            whole[keyPath: path] = new
            wrappedValue = whole
        })
    }
}

/// As in SwiftUI, a view that has read it is drawn again after it was set.
@MainActor @propertyWrapper public struct State<Value> {
    @Observable @MainActor final class Box {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private let box: Box
    public init(wrappedValue: Value) { box = Box(wrappedValue) }
    public init(initialValue: Value) { box = Box(initialValue) }
    public var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
    public var projectedValue: Binding<Value> { Binding(get: { box.value }, set: { box.value = $0 }) }
}
