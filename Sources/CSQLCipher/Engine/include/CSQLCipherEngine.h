/* SwiftPM demands a header of each target. The engine's own are the module CSQLCipher. */
