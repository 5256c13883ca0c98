# Flags of every target: `quasi_flags` for all code, `quasi_warnings` for our own.
add_library(quasi_flags INTERFACE)
target_compile_options(quasi_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
  $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>
  -ffunction-sections -fdata-sections)
target_include_directories(quasi_flags INTERFACE "${PROJECT_SOURCE_DIR}/include")
# -iquote: our folders answer to quoted includes only, never to <...> of the system.
target_compile_options(quasi_flags INTERFACE "SHELL:-iquote ${PROJECT_SOURCE_DIR}/src")

if(CMAKE_SYSTEM_NAME STREQUAL "WASI")
  set(QUASI_WASM ON)
  target_compile_definitions(quasi_flags INTERFACE QUASI_WASM=1)
  target_link_options(quasi_flags INTERFACE -Wl,--gc-sections)
  if(QUASI_SIMD128 OR QUASI_RELAXED_SIMD)
    target_compile_options(quasi_flags INTERFACE -msimd128)
  endif()
  if(QUASI_RELAXED_SIMD)
    target_compile_options(quasi_flags INTERFACE -mrelaxed-simd -mwide-arithmetic)
    target_compile_definitions(quasi_flags INTERFACE QUASI_RELAXED_SIMD=1)
  endif()
else()
  set(QUASI_WASM OFF)
  target_link_options(quasi_flags INTERFACE -Wl,--gc-sections)
  if(QUASI_NATIVE_PORT)
    # SSSE3 byte shuffles and SSE4.1: what a Wasm engine needs for SIMD, and no AES or AVX.
    target_compile_options(quasi_flags INTERFACE -march=x86-64-v2)
    target_compile_definitions(quasi_flags INTERFACE QUASI_NATIVE_PORT=1)
  endif()
endif()
if(QUASI_SCALAR_ONLY)
  target_compile_definitions(quasi_flags INTERFACE QUASI_KERNELS_SCALAR_ONLY=1)
endif()
if(QUASI_SANITIZE)
  target_compile_options(quasi_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(quasi_flags INTERFACE -fsanitize=address,undefined)
endif()

add_library(quasi_warnings INTERFACE)
target_compile_options(quasi_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of g++-12 at -O3: members initialised from a list,
  # and std::string concatenation (GCC bug 105651).
  target_compile_options(quasi_warnings INTERFACE -Wno-dangling-pointer -Wno-restrict)
endif()
