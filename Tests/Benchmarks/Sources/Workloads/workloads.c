#include "workloads.h"
