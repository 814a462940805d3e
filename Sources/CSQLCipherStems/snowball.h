/* For files with Snowball's source. */
#pragma once

#include "names.h"

#pragma clang diagnostic ignored "-Weverything"
