# Flags of our own code. They do not travel to those who link the library.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()
# -g1: function names and lines for a backtrace or a profile, at a tenth of the size of -g.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # It caches nothing that uses a precompiled header unless it may take its macros as they are.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

set(PLIMSOLL_SANITIZE "" CACHE STRING "Argument of -fsanitize= for the whole build; empty: none")
if(PLIMSOLL_SANITIZE)
  add_compile_options(-fsanitize=${PLIMSOLL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PLIMSOLL_SANITIZE})
endif()

# Compiles once what most files of a target include, and what ARGN adds. That hides a missing
# #include, as batches do; tools/check-includes finds it.
option(PLIMSOLL_PRECOMPILE "Precompiled headers: half the time of a build" ON)
function(plimsoll_precompile target)
  if(PLIMSOLL_PRECOMPILE)
    target_precompile_headers(
      ${target} PRIVATE <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <functional>
      <map> <memory> <optional> <span> <string> <string_view> <vector> <fmt/format.h> ${ARGN})
    # GCC 12 warns of the library's own strings once it forgets that their header is a system's.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
                                             -Wno-stringop-overread)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE -fpch-preprocess) # for ccache
    endif()
  endif()
endfunction()

# Sets <out> to files that each include up to <most> of <sources>, of one folder and compiled with
# the same options. Those that are marked SKIP_UNITY_BUILD_INCLUSION stay alone. Names of a file's
# own are seen by the rest of its batch: no two files of a folder may give one to different things.
option(PLIMSOLL_UNITY "Files of a folder compiled together: half the time of a build" ON)
function(plimsoll_batches out most sources)
  if(NOT PLIMSOLL_UNITY)
    set(${out} ${sources} PARENT_SCOPE)
    return()
  endif()
  set(result "")
  set(groups "")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source)
    get_source_file_property(is_alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(is_alone)
      list(APPEND result ${source})
      continue()
    endif()
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(NOT options)
      set(options "")
    endif()
    string(MAKE_C_IDENTIFIER "${folder}${options}" group)
    list(APPEND groups ${group})
    list(APPEND files_${group} ${source})
    set(options_${group} ${options})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    list(LENGTH files_${group} files)
    math(EXPR batches "(${files} + ${most} - 1) / ${most}")
    foreach(batch RANGE 1 ${batches})
      math(EXPR first "${files} * (${batch} - 1) / ${batches}")
      math(EXPR count "${files} * ${batch} / ${batches} - ${first}")
      list(SUBLIST files_${group} ${first} ${count} included)
      list(TRANSFORM included REPLACE "(.+)"
                                      "#include \"\\1\"  // NOLINT(bugprone-suspicious-include)\n")
      list(JOIN included "" content)
      set(file ${PROJECT_BINARY_DIR}/generated/batches/${group}_${batch}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${options_${group}}")
      list(APPEND result ${file})
    endforeach()
  endforeach()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

add_library(plimsoll_options INTERFACE)
target_compile_options(
  plimsoll_options
  INTERFACE -march=x86-64-v3 # AVX2, FMA, F16C: the oldest machine we run on
            # Neither changes a result; both stand in the way of vector code.
            -fno-math-errno
            -fno-trapping-math
            -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wcast-qual
            -Wold-style-cast
            -Wformat=2
            -Wvla
            # Left-out fields of a designated initializer take their declared defaults: our style.
            -Wno-missing-field-initializers
            # GCC 12 sees overlaps in std::string operator+ that are not there (GCC bug 105651).
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
            # Clang tells of every `omp simd` that sanitizers or -O1 keep it from.
            $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
            -Werror)

# Folders that turn bytes from outside into sizes also get the conversion warnings; in the
# arithmetic of kernels the same warnings would bury the code in casts.
foreach(folder base format data)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-Wconversion;-Wsign-conversion")
endforeach()
# Kernels, which have no strings, keep the warning that a precompiled header takes from the others.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.cpp)
set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -Warray-bounds
                                                  SKIP_UNITY_BUILD_INCLUSION ON)
# Names, words and descriptions: a third of their compile time, none of the training's.
if(CMAKE_BUILD_TYPE STREQUAL Release)
  foreach(folder interop job api draw zoo nn)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -O1)
  endforeach()
endif()
# IoUs are compared with thresholds and with each other: the same boxes must give the same bits in
# every loop, and those of everybody who computes as written.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/boxes/*.cpp)
set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
# Every op has an `infer`, a `ref` and a `backward` of its own.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*.cpp)
set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
