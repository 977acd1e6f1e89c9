# Kernels that are compiled once more for each further variant of src/kernels/simd/vec.h. Only these
# files see instructions that the oldest machine lacks.
file(GLOB variant_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/simd/*.cpp)
list(FILTER variant_sources EXCLUDE REGEX "/(bf16_peak|bilinear|dispatch|levels|resampling|short_reals)\\.cpp$")

option(PLIMSOLL_VARIANTS "All of them; without, nothing links: for tools that read a file once" ON)
if(NOT PLIMSOLL_VARIANTS)
  return()
endif()

find_path(PLIMSOLL_SIMDE simde/x86/avx512.h)
option(PLIMSOLL_EMULATE_AVX512
       "Kernels for AVX-512 by SIMDe (libsimde-dev), slowly: tests of them on any machine" OFF)
# -fno-weak: inline functions of the standard library and of our headers stay in the file that they
# were compiled in. Weak ones would be shared with files of older instructions, and the linker might
# keep the copy that those machines cannot run; tools/check-variants sees to it. Warnings are off:
# the same files are compiled with all of them for avx2, and what is said of these is about -fno-weak.
set(PLIMSOLL_AVX512_OPTIONS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=256
                            -fno-weak -w)

function(plimsoll_add_variant name)
  add_library(plimsoll_${name} OBJECT ${variant_sources})
  string(TOUPPER ${name} upper)
  target_compile_definitions(plimsoll_${name} PRIVATE PLIMSOLL_${upper})
  target_compile_features(plimsoll_${name} PRIVATE cxx_std_20)
  target_include_directories(plimsoll_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                                      ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(plimsoll_${name} PRIVATE OpenMP::OpenMP_CXX plimsoll_options)
  target_compile_options(plimsoll_${name} PRIVATE ${ARGN})
  set_target_properties(plimsoll_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_sources(plimsoll_core PRIVATE $<TARGET_OBJECTS:plimsoll_${name}>)
endfunction()

# For tests and for compilers that cannot make the next: it need not be fast, but soon there.
plimsoll_add_variant(paired $<$<CONFIG:Release>:-O2>)
if(PLIMSOLL_EMULATE_AVX512)
  if(NOT PLIMSOLL_SIMDE)
    message(FATAL_ERROR "PLIMSOLL_EMULATE_AVX512 needs simde/x86/avx512.h (libsimde-dev)")
  endif()
  plimsoll_add_variant(
    avx512 "SHELL:-include ${PROJECT_SOURCE_DIR}/src/kernels/simd/emulated_avx512.h" -w)
  target_include_directories(plimsoll_avx512 SYSTEM PRIVATE ${PLIMSOLL_SIMDE})
  set_source_files_properties(
    ${PROJECT_SOURCE_DIR}/src/kernels/simd/dispatch.cpp
    PROPERTIES COMPILE_DEFINITIONS PLIMSOLL_EMULATE_AVX512 SKIP_PRECOMPILE_HEADERS ON)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  plimsoll_add_variant(avx512 ${PLIMSOLL_AVX512_OPTIONS})
else()
  # Clang cannot keep them apart: there this variant is as `paired`.
  plimsoll_add_variant(avx512)
endif()
