/* The engine's compile options. They are in a folder that belongs to no module, as the product SQLCipher reads them too: a header
 * in this folder would give it this module's declarations, which call the other engine. */
#pragma once
#include "../Engine/options.h"
