import FaultMemory
import Faults
import Foundation
import SQLCipherKit

/// Runs the drivers over the cases of all families, each case in a process of its own. Prints the failures and the covered cases.
///
/// `Contract FOLDER DRIVER [FAMILY/NAME]…`: the driver `texts`, `kinds`, `situations`, `races`, `forks`, `memory`, `calls` or
/// `kills`; all cases, or those whose labels begin with one of the names. With `CONTRACT_SHOWS` in the environment, it prints the
/// answer of each call.
@main
struct Contract {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { return print("usage: Contract FOLDER DRIVER [FAMILY/NAME]…") }
        let names = arguments.dropFirst(3)
        let cases = Cases.all.filter { item in names.isEmpty || names.contains { item.label.hasPrefix($0) } }
        let driver = Driver(folder: arguments[1], cases: cases)
        signal(SIGPIPE, SIG_IGN)
        Isolated.start()
        driver.makeTemplates()
        switch arguments[2] {
        case "texts": driver.runTexts()
        case "kinds": driver.runKinds()
        case "situations": driver.runSituations()
        case "races": driver.runRaces()
        case "memory":
            guard faultmemory_install() == 0 else { return print("FAILED: no allocator") }
            driver.runFaults([.memory])
        case "calls": driver.runFaults(Fault.allCases.filter { $0 != .memory })
        case "kills": driver.runKills()
        case "forks": driver.runForks()
        default: return print("there is no driver \(arguments[2])")
        }
        print("tried \(Isolated.tried), thrown \(Isolated.thrown), failed \(Isolated.failures)")
    }
}

extension Cases {
    static var all: [ContractCase] { core + concurrency + maintenance + records + search + replication + vectors }
}
