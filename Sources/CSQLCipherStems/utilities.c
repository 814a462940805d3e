#include "snowball.h"

#include "../../Vendor/sqlcipher/snowball/runtime/utilities.c"
