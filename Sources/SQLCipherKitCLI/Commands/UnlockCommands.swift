import ArgumentParser
import Foundation
import SQLCipherKit

struct UnlockCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Keep a database's key for a while, so that commands do not ask for it.",
        discussion: """
            Puts the database's key into your user keyring in the Linux kernel. Until the time is up, every command that you run \
            without a key option takes the key from there. Then the kernel removes it; sqlcipherkit lock and a restart remove it \
            sooner.

            The keyring holds the key that was derived from the passphrase, not the passphrase. The key is in no file, environment \
            variable or command line, and other users cannot read it. Every program that you run can read it.

            EXAMPLES
              sqlcipherkit unlock notes.db
              sqlcipherkit unlock notes.db --for 8h --key-file notes.key

            \(form)
            """)

    private static let form = JSONForm.object("file", "until")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long to keep the key, from 1s to 7d, such as 90s, 15m, 8h or 1d.", valueName: "time"))
    var time = Lifetime(seconds: 900)

    @OptionGroup var report: ReportOptions

    func validate() throws {
        if time.seconds > 604_800 { throw ValidationError("--for is at most 7d") }
        if file.key.isPlain { throw ValidationError("a database that is not encrypted needs no unlocking") }
    }

    func run() throws {
        let (db, _) = try file.openWithKey(.readOnly, asking: true)
        let duration = Duration.seconds(time.seconds)
        try UnlockedFiles.add(db, file.path, for: duration)
        let end = Date(timeIntervalSinceNow: time.seconds)
        let shown = end.formatted(date: time.seconds < 43_200 ? .omitted : .abbreviated, time: .shortened)
        try report.write(
            Self.form, [.string(file.path), .string(end.formatted(.iso8601))],
            "\(file.path.onOneLine) is unlocked until \(shown); sqlcipherkit lock locks it sooner")
    }
}

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Forget the keys that unlock keeps.",
        discussion: """
            Without a file, all of your keys are forgotten. Programs that have a database open keep it open.

            EXAMPLES
              sqlcipherkit lock notes.db
              sqlcipherkit lock

            \(form)
            """)

    private static let form = JSONForm.object("forgotten")

    @Argument(help: ArgumentHelp("The database file; all if none is given.", valueName: "database"), completion: .file())
    var path: String?

    @OptionGroup var report: ReportOptions

    func run() throws {
        let count = try UnlockedFiles.remove(path)
        if let path, count == 0 { throw Failure("\(path) is not unlocked") }
        try report.write(Self.form, [.integer(Int64(count))], "\(count.counted("key")) forgotten")
    }
}
