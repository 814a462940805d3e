#include "snowball.h"

#include "../../Vendor/sqlcipher/snowball/src_c/stem_UTF_8_danish.c"
