# Finds oneDNN and defines oneDNN::dnnl. Debian's own package file insists on OpenCL, which only
# programs that use oneDNN on a GPU need.
find_path(oneDNN_INCLUDE_DIR dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR)
if(oneDNN_FOUND AND NOT TARGET oneDNN::dnnl)
  add_library(oneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(
    oneDNN::dnnl PROPERTIES IMPORTED_LOCATION ${oneDNN_LIBRARY}
                            INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
endif()
