// `import SQLCipherKit` gives everything that one device needs; the modules are for programs that want less.
@_exported import SQLCipherKitConcurrency
@_exported import SQLCipherKitCore
@_exported import SQLCipherKitFiles
@_exported import SQLCipherKitRecords
@_exported import SQLCipherKitSearch
