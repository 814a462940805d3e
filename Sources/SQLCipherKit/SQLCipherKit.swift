// `import SQLCipherKit` gives everything; the modules are for programs that want less.
@_exported import SQLCipherKitConcurrency
@_exported import SQLCipherKitCore
@_exported import SQLCipherKitMaintenance
@_exported import SQLCipherKitRecords
@_exported import SQLCipherKitSearch
