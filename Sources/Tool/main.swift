import SQLCipherKitCLI

SQLCipherKitCommand.main()
