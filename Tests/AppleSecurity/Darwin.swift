// A module called Darwin, for the sources whose #if asks for it.
@_exported import Glibc
