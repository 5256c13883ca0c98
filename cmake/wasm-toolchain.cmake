# WebAssembly with Debian's clang-22, wasi-libc and libc++. Tests run in Wasmtime.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")

set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_AR llvm-ar-22)
set(CMAKE_RANLIB llvm-ranlib-22)
# Debian lays its headers out under wasm32-wasi; clang calls that spelling deprecated.
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_SYSROOT /usr)
set(CMAKE_C_FLAGS_INIT "-Wno-deprecated")
set(CMAKE_CXX_FLAGS_INIT "-Wno-deprecated -fno-exceptions -fno-rtti")
# clang would hand the module to whatever wasm-opt it finds, and Debian's (binaryen 108)
# refuses relaxed SIMD. wasm-ld's own stack is 64 KiB, which is too little for batches.
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-Wno-deprecated --no-wasm-opt -Wl,--stack-first -Wl,-z,stack-size=1048576")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# scripts/setup.sh puts the pinned Wasmtime here. Tests read and write below the source
# and build folders, which they see under the same absolute paths as natively.
get_filename_component(_quasi_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(QUASI_WASMTIME "${_quasi_root}/.venv/bin/wasmtime" CACHE FILEPATH "the Wasmtime that runs tests")
set(CMAKE_CROSSCOMPILING_EMULATOR
    "${QUASI_WASMTIME};run;-S;inherit-env=y;--dir=${_quasi_root};--dir=${CMAKE_BINARY_DIR}")
