// What the x86 kernels share with all others (see target_*.h).
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "aead/aes_schedule.h"
#include "aead/attributes.h"
#include "aead/kernel.h"
#include "aead/poly1305.h"
#include "aead/scalar/chacha20.h"
#include "aead/x86/kernels.h"
#include "quasi/bytes.h"
