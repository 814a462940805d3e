// Of SwiftUI what the article "In an app" uses, so that its screen is compiled and run on Linux. It draws nothing: a view's body is
// evaluated, its texts are noted, and its tasks run.
import Foundation

@MainActor public enum StandInScreen {
    public static var texts: [String] = []
    public static var actions: [String: () -> Void] = [:]
    public static var task: (() async -> Void)?

    /// Evaluates a view, and returns the texts that it shows.
    public static func draw(_ view: some View) -> [String] {
        (texts, task) = ([], nil)
        view.evaluate()
        return texts
    }
}

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
    func evaluate()
}

extension View {
    public func evaluate() { body.evaluate() }
    public func searchable(text: Binding<String>) -> some View { self }
    public func task(id: some Equatable, _ action: @escaping () async -> Void) -> some View { Tasked(content: self, action: action) }
}

extension Never: View {
    public var body: Never { return fatalError("no view is Never") }
}

public protocol Leaf: View where Body == Never {}

extension Leaf {
    public var body: Never { return fatalError("a stand-in has no body") }
}

struct Tasked<Content: View>: Leaf {
    let content: Content
    let action: () async -> Void
    func evaluate() {
        StandInScreen.task = action
        content.evaluate()
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

public struct Button: Leaf {
    let title: String
    let action: @MainActor () -> Void
    public init(_ title: String, action: @escaping @MainActor () -> Void) { (self.title, self.action) = (title, action) }
    public func evaluate() { StandInScreen.actions[title] = action }
}

public struct List: Leaf {
    let rows: [any View]
    public init<Row: Identifiable>(_ rows: [Row], @ViewBuilder content: (Row) -> Group) { self.rows = rows.map(content) }
    public func evaluate() { for row in rows { row.evaluate() } }
}

public struct VStack: Leaf {
    let content: Group
    public init(@ViewBuilder content: () -> Group) { self.content = content() }
    public func evaluate() { content.evaluate() }
}

@propertyWrapper public struct Binding<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

@MainActor @propertyWrapper public struct State<Value> {
    private final class Box {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private let box: Box
    public init(wrappedValue: Value) { box = Box(wrappedValue) }
    public var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
    public var projectedValue: Binding<Value> { Binding(wrappedValue: box.value) }
}
