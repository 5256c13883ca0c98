// Moved: include and extend "base/limits.h". This name hides the system's <limits.h>
// from g++; the forwarding goes away once nobody includes it.
#pragma once

#include "base/limits.h"
