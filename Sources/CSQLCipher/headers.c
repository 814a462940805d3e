/* The module's headers, as one translation unit: they compile as C too, each with what it needs. */
#include "CSQLCipher.h"
