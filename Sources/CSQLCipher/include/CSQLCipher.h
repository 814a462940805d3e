/* The engine as Swift sees it: SQLite's and SQLCipher's C API under the package's own symbol names. */
#pragma once

#include "sqlite.h"
#include "shims.h"
#include "inlined.h"

/* Compiled with the engine. */
#include "access.h"
#include "changes.h"
#include "columns.h"
#include "constraints.h"
#include "fork.h"
#include "functions.h"
#include "guard.h"
#include "interrupts.h"
#include "keys.h"
#include "logging.h"
#include "page_counts.h"
#include "primitives.h"
#include "query_only.h"
#include "rekey.h"
#include "settings.h"
#include "slot_mark.h"
#include "snapshots.h"
#include "tokens.h"
#include "transactions.h"
#include "vacuum.h"
#include "words.h"

/* The package's own. */
#include "argon2.h"
#include "key_wrapping.h"
#include "keyring.h"
#include "provider.h"
#include "rename.h"
#include "random.h"
#include "thread.h"
#include "wipe.h"
