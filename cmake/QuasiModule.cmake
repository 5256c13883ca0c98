# quasi_module(NAME DEPS a b ...): one folder of src/ as a library with its tests.
#
#   src/NAME/**/*.cc        (not *_test.cc)  -> static library quasi_NAME, alias quasi::NAME
#   src/NAME/**/*_test.cc                    -> program NAME_test, a ctest of that name
#   src/NAME/CMakeLists.txt                  -> included afterwards, for flags of single files
#
# Folders named linux/ and x86/ are left out of Wasm builds, wasi/ out of native ones.
# A module that has no sources (yet) is an empty interface library.

function(quasi_module name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  set(root "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${root}/*.cc")
  if(QUASI_WASM)
    list(FILTER sources EXCLUDE REGEX "^${root}/(.*/)?(linux|x86)/")
  else()
    list(FILTER sources EXCLUDE REGEX "^${root}/(.*/)?wasi/")
  endif()
  list(FILTER sources EXCLUDE REGEX "/target/")  # cargo's
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  list(TRANSFORM arg_DEPS PREPEND quasi_ OUTPUT_VARIABLE dependencies)
  if(sources)
    add_library(quasi_${name} STATIC ${sources})
    target_link_libraries(quasi_${name} PUBLIC quasi_flags ${dependencies} PRIVATE quasi_warnings)
  else()
    add_library(quasi_${name} INTERFACE)
    target_link_libraries(quasi_${name} INTERFACE quasi_flags ${dependencies})
  endif()
  add_library(quasi::${name} ALIAS quasi_${name})

  if(QUASI_BUILD_TESTS AND tests)
    quasi_test(${name}_test SOURCES ${tests} DEPS quasi_${name} DATA "${root}/testdata")
  endif()

  # include(), not add_subdirectory(): properties of source files belong to the directory
  # that made the target. Paths there start with ${CMAKE_CURRENT_LIST_DIR}.
  if(EXISTS "${root}/CMakeLists.txt")
    include("${root}/CMakeLists.txt")
  endif()
endfunction()

# quasi_source_flags(FLAGS -maes ... SOURCES a.cc b.cc): in a module's CMakeLists.txt,
# compiles some of its sources (named from its folder) with extra flags: an instruction
# set that is chosen at run time.
function(quasi_source_flags)
  cmake_parse_arguments(arg "" "" "FLAGS;SOURCES" ${ARGN})
  foreach(source ${arg_SOURCES})
    set_property(SOURCE "${CMAKE_CURRENT_LIST_DIR}/${source}"
      APPEND PROPERTY COMPILE_OPTIONS ${arg_FLAGS})
  endforeach()
endfunction()

# Builds every test program made by quasi_test.
add_custom_target(unit_tests)

# quasi_test(NAME SOURCES ... DEPS ... [DATA folder] [TIMEOUT seconds] [LABELS ...]):
# a GoogleTest program and its ctest, run in Wasmtime when the build is for Wasm.
function(quasi_test name)
  cmake_parse_arguments(arg "" "DATA;TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT arg_DATA)
    set(arg_DATA "${CMAKE_CURRENT_SOURCE_DIR}/testdata")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} quasi_flags quasi_warnings quasi_gtest_main)
  # Absolute paths, the same natively and in Wasmtime, where both folders are granted.
  target_compile_definitions(${name} PRIVATE
    QUASI_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    QUASI_TEST_DATA_DIR="${arg_DATA}"
    QUASI_TEST_TEMP_DIR="${CMAKE_BINARY_DIR}/tmp")
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/tmp")
  add_test(NAME ${name} COMMAND ${name})
  add_dependencies(unit_tests ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}")
endfunction()
