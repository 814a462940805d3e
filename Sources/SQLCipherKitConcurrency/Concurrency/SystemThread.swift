import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Starting a thread, which the system may refuse. Foundation's `Thread` says nothing then, and never runs.
enum SystemThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new thread.
    /// - Parameter stackSize: in bytes; 0 for the system's default.
    /// - Throws: ``DatabaseError/Reason/noThread``.
    static func start(stackSize: Int = 0, _ body: @escaping @Sendable () -> Void) throws {
        let body = Unmanaged.passRetained(Body(body))
        let error = sqlcipherkit_start_thread("SQLCipherKit", stackSize, { context in
            guard let context else { return }
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        }, body.toOpaque())
        if error == 0 { return }
        body.release()
        throw DatabaseError.noThread(error)
    }

    /// Runs `body`, and then releases the objects that Objective-C has autoreleased.
    static func withPool<R>(_ body: () -> R) -> R {
        #if canImport(ObjectiveC)
        autoreleasepool(invoking: body)
        #else
        body()
        #endif
    }
}
