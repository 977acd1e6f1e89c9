include(CMakePackageConfigHelpers)

install(TARGETS plimsoll_core EXPORT plimsoll-targets ARCHIVE)
# What we promise to keep; headers of src/ are nobody's but ours.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/plimsoll
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/plimsoll)
install(EXPORT plimsoll-targets NAMESPACE plimsoll:: DESTINATION ${package_dir})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/plimsoll-config.cmake @ONLY CONTENT
"include(CMakeFindDependencyMacro)
find_dependency(OpenMP)
list(APPEND CMAKE_MODULE_PATH \${CMAKE_CURRENT_LIST_DIR})
find_dependency(oneDNN)
find_dependency(fmt)
find_dependency(ZLIB)
find_dependency(JPEG)
find_dependency(PNG)
find_dependency(WebP)
find_dependency(EXPAT)
find_dependency(Snappy)
include(\${CMAKE_CURRENT_LIST_DIR}/plimsoll-targets.cmake)
")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plimsoll-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plimsoll-config.cmake
              ${PROJECT_BINARY_DIR}/plimsoll-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindoneDNN.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindWebP.cmake DESTINATION ${package_dir})
