/* Lets the engine's allocations fail. */
#pragma once

/* Puts the functions in place. Before anything else of the engine is called. Returns an SQLite result code. */
int faultmemory_install(void);

/* Chooses what fails: the `number`th allocation from now on, and those after it if `for_good`. 0 chooses none. */
void faultmemory_choose(long number, int for_good);

/* The number of allocations since the choice. */
long faultmemory_calls(void);

/* The number of allocations that were not released. */
long faultmemory_live(void);
