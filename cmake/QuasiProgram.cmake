# quasi_program(NAME SOURCES ... DEPS ...): a program that is the same natively and as a
# WASI 0.3 component. Its sources define `int quasi_main(int argc, char** argv)`.
#
#   natively: the executable bin/NAME
#   for Wasm: the component bin/NAME.wasm, which an unmodified `wasmtime run` runs with
#             ${QUASI_COMPONENT_FLAGS}
#
# quasi_component(TARGET) turns an executable target of a Wasm build into a component in
# place: a reactor whose export wasi:cli/run calls quasi_main().
set(QUASI_COMPONENT_FLAGS
  -S inherit-network=y -S udp=y -S allow-ip-name-lookup=y -S p3=y -W component-model-async=y
  CACHE INTERNAL "how Wasmtime runs a component")

function(quasi_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} quasi_flags quasi_warnings)
  if(QUASI_WASM)
    set_target_properties(${name} PROPERTIES SUFFIX .wasm)
    quasi_component(${name})
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/apps/entry/native_main.cc")
  endif()
endfunction()

if(NOT QUASI_WASM)
  return()
endif()

set(QUASI_WASM_TOOLS "${PROJECT_SOURCE_DIR}/.venv/bin/wasm-tools" CACHE FILEPATH
  "the wasm-tools that make components")

# The adapter from preview 1 (wasi-libc) to 0.2, out of the crate that ships it.
set(_adapter_tool "${PROJECT_SOURCE_DIR}/cmake/adapter")
set(QUASI_ADAPTER "${CMAKE_BINARY_DIR}/adapter/wasi_snapshot_preview1.reactor.wasm"
  CACHE INTERNAL "the preview 1 adapter")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/adapter")
find_program(QUASI_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin" NO_CMAKE_FIND_ROOT_PATH)
if(NOT QUASI_CARGO)
  message(FATAL_ERROR "cargo is missing: install Rust with rustup, then run scripts/setup.sh.")
endif()
add_custom_command(
  OUTPUT "${QUASI_ADAPTER}"
  COMMAND ${CMAKE_COMMAND} -E env
          "CARGO_TARGET_DIR=${PROJECT_SOURCE_DIR}/build/rust-adapter"
          "${QUASI_CARGO}" run --locked --quiet -- "${QUASI_ADAPTER}"
  DEPENDS "${_adapter_tool}/src/main.rs" "${_adapter_tool}/Cargo.toml"
          "${_adapter_tool}/Cargo.lock"
  WORKING_DIRECTORY "${_adapter_tool}"
  COMMENT "Extracting the preview 1 adapter"
  VERBATIM)
add_custom_target(quasi_adapter DEPENDS "${QUASI_ADAPTER}")

# The entry that calls quasi_main() is linked as an object, like the generated bindings
# (src/io/CMakeLists.txt): nothing refers to what the host looks for.
function(quasi_component target)
  target_link_libraries(${target} PRIVATE quasi_io)
  target_sources(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/apps/entry/component_run.cc" $<TARGET_OBJECTS:quasi_wasi_bindings>)
  target_link_options(${target} PRIVATE -mexec-model=reactor)
  add_dependencies(${target} quasi_adapter)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${QUASI_ADAPTER}")
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND "${QUASI_WASM_TOOLS}" component new "$<TARGET_FILE:${target}>"
            --adapt "wasi_snapshot_preview1=${QUASI_ADAPTER}" -o "$<TARGET_FILE:${target}>.component"
    COMMAND ${CMAKE_COMMAND} -E rename
            "$<TARGET_FILE:${target}>.component" "$<TARGET_FILE:${target}>"
    VERBATIM)
endfunction()

# quasi_component_test(TARGET): a program made by quasi_test, as a component: sockets
# exist in components only.
function(quasi_component_test target)
  target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/apps/entry/test_main.cc")
  quasi_component(${target})
  set_target_properties(${target} PROPERTIES CROSSCOMPILING_EMULATOR
    "${CMAKE_CROSSCOMPILING_EMULATOR};${QUASI_COMPONENT_FLAGS}")
endfunction()
