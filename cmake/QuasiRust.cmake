# The Rust static library under the TLS module (src/tls/rust, crate quasi-tls), built by
# cargo from its lock file. Presets of one kind share a target folder, so the crates are
# compiled once natively and once for Wasm. Imported target: quasi_tls_rust.
set(QUASI_TLS_CRATE "${PROJECT_SOURCE_DIR}/src/tls/rust")
if(NOT EXISTS "${QUASI_TLS_CRATE}/Cargo.toml")
  return()
endif()

find_program(QUASI_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin" NO_CMAKE_FIND_ROOT_PATH)
if(NOT QUASI_CARGO)
  message(FATAL_ERROR "cargo is missing: install Rust with rustup, then run scripts/setup.sh.")
endif()

file(GLOB_RECURSE _rust_sources CONFIGURE_DEPENDS
  "${QUASI_TLS_CRATE}/src/*.rs" "${QUASI_TLS_CRATE}/build.rs"
  "${QUASI_TLS_CRATE}/Cargo.toml" "${QUASI_TLS_CRATE}/Cargo.lock")
list(FILTER _rust_sources EXCLUDE REGEX "/target/")

if(QUASI_WASM)
  set(_rust_kind wasm)
  set(_rust_arguments --target wasm32-wasip1)
  set(_rust_environment CC_wasm32_wasip1=clang-22 AR_wasm32_wasip1=llvm-ar-22)
  set(_rust_folder wasm32-wasip1/release)
else()
  set(_rust_kind native)
  set(_rust_arguments "")
  set(_rust_environment "")
  set(_rust_folder release)
endif()
set(QUASI_RUST_TARGET_DIR "${PROJECT_SOURCE_DIR}/build/rust-${_rust_kind}" CACHE PATH
  "cargo's target folder")
set(_rust_library "${CMAKE_BINARY_DIR}/rust/libquasi_tls.a")

# The copy carries a fresh time stamp even when cargo found nothing to do.
add_custom_command(
  OUTPUT "${_rust_library}"
  COMMAND ${CMAKE_COMMAND} -E env ${_rust_environment} CARGO_TARGET_DIR=${QUASI_RUST_TARGET_DIR}
          "${QUASI_CARGO}" build --release --locked --quiet ${_rust_arguments}
  COMMAND ${CMAKE_COMMAND} -E copy "${QUASI_RUST_TARGET_DIR}/${_rust_folder}/libquasi_tls.a"
          "${_rust_library}"
  COMMAND ${CMAKE_COMMAND} -E touch "${_rust_library}"
  DEPENDS ${_rust_sources}
  WORKING_DIRECTORY "${QUASI_TLS_CRATE}"
  COMMENT "Building the Rust TLS library (${_rust_kind})"
  VERBATIM)
add_custom_target(quasi_tls_rust_build DEPENDS "${_rust_library}")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/rust")

add_library(quasi_tls_rust STATIC IMPORTED GLOBAL)
set_target_properties(quasi_tls_rust PROPERTIES IMPORTED_LOCATION "${_rust_library}")
add_dependencies(quasi_tls_rust quasi_tls_rust_build)
if(NOT QUASI_WASM)
  find_package(Threads REQUIRED)
  set_property(TARGET quasi_tls_rust PROPERTY
    INTERFACE_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m)
endif()
