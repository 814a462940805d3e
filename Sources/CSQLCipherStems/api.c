#include "snowball.h"

#include "../../Vendor/sqlcipher/snowball/runtime/api.c"
