"""Runs a WASI program: run_wasi.py PROGRAM ARGUMENTS…"""

import sys

import wasmtime


def main(arguments):
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    settings = wasmtime.WasiConfig()
    settings.argv = arguments
    settings.inherit_stdout()
    settings.inherit_stderr()
    store.set_wasi(settings)
    instance = linker.instantiate(store, wasmtime.Module.from_file(engine, arguments[0]))
    try:
        instance.exports(store)["_start"](store)
    except wasmtime.ExitTrap as trap:
        return trap.code
    return 0


sys.exit(main(sys.argv[1:]))
