# GoogleTest, compiled here from Debian's sources (package googletest) with our own
# flags: the same recipe serves native, sanitizer and Wasm builds.
set(QUASI_GOOGLETEST_DIR "/usr/src/googletest/googletest" CACHE PATH "GoogleTest's sources")
if(NOT EXISTS "${QUASI_GOOGLETEST_DIR}/src/gtest-all.cc")
  message(FATAL_ERROR "GoogleTest's sources are not in ${QUASI_GOOGLETEST_DIR}: "
    "run scripts/setup.sh, or install the package googletest.")
endif()

add_library(quasi_gtest_main STATIC
  "${QUASI_GOOGLETEST_DIR}/src/gtest-all.cc" "${QUASI_GOOGLETEST_DIR}/src/gtest_main.cc")
target_include_directories(quasi_gtest_main PRIVATE "${QUASI_GOOGLETEST_DIR}")
target_include_directories(quasi_gtest_main SYSTEM PUBLIC "${QUASI_GOOGLETEST_DIR}/include")
target_compile_options(quasi_gtest_main PRIVATE -w)
target_compile_definitions(quasi_gtest_main PUBLIC
  GTEST_HAS_EXCEPTIONS=0 GTEST_HAS_RTTI=0 GTEST_HAS_DEATH_TEST=0)
target_link_libraries(quasi_gtest_main PUBLIC quasi_flags)
if(QUASI_WASM)
  target_compile_definitions(quasi_gtest_main PUBLIC
    GTEST_HAS_PTHREAD=0 GTEST_HAS_STREAM_REDIRECTION=0 GTEST_HAS_CLONE=0
    _WASI_EMULATED_SIGNAL _WASI_EMULATED_PROCESS_CLOCKS _WASI_EMULATED_MMAN)
  target_link_libraries(quasi_gtest_main PUBLIC
    wasi-emulated-signal wasi-emulated-process-clocks wasi-emulated-mman)
else()
  find_package(Threads REQUIRED)
  target_link_libraries(quasi_gtest_main PUBLIC Threads::Threads)
endif()
