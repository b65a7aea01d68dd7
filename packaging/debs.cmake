# SPDX-License-Identifier: Apache-2.0
# Debian packages: `cpack` in the build folder makes one of each component of the installation,
#
#   libsluice0          the shared library (lib)
#   libsluice0-formats  the format modules for WebP, TIFF and JPEG 2000 (formats)
#   libsluice-dev       headers, the static library, sluice.pc, find_package(Sluice) (dev)
#   sluice              the tool with its manual, and train_image_folder (tool)
#
# dpkg-shlibdeps finds the dependencies on other libraries. The library's package triggers ldconfig and
# has a shlibs file, so that packages of programs depend on it. The prefix is /usr, whatever prefix
# `cmake --install` uses.
set(library libsluice${PROJECT_VERSION_MAJOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_CONTACT "Sluice maintainers" CACHE STRING "Maintainer of the packages that cpack makes")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL lib dev)
set(has_formats OFF)
if(SLUICE_MODULES_BUILT AND NOT SLUICE_LINK_MODULES)
    set(has_formats ON)
    list(APPEND CPACK_COMPONENTS_ALL formats)
endif()
if(TARGET sluice_tool)
    list(APPEND CPACK_COMPONENTS_ALL tool)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(CPACK_DEBIAN_LIB_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(recommended "")
if(ARCHIVE_FOUND) # loaded by name when it is needed, which dpkg-shlibdeps does not see
    list(APPEND recommended libarchive13)
endif()
if(EXPAT_FOUND) # so is it
    list(APPEND recommended libexpat1)
endif()
if(YAML_FOUND) # and it
    list(APPEND recommended libyaml-0-2)
endif()
if(SQLITE_FOUND) # and it
    list(APPEND recommended libsqlite3-0)
endif()
if(has_formats)
    list(APPEND recommended "${library}-formats (= ${PROJECT_VERSION})")
endif()
list(JOIN recommended ", " CPACK_DEBIAN_LIB_PACKAGE_RECOMMENDS)
set(CPACK_COMPONENT_LIB_DESCRIPTION "This package contains the shared library.")

set(CPACK_DEBIAN_FORMATS_PACKAGE_NAME ${library}-formats)
set(CPACK_DEBIAN_FORMATS_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_FORMATS_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})") # both of one version
set(CPACK_DEBIAN_FORMATS_PACKAGE_GENERATE_SHLIBS OFF)
set(CPACK_COMPONENT_FORMATS_DESCRIPTION "This package contains the format modules that decode WebP, \
TIFF and JPEG 2000 files.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libsluice-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "${library} (= ${PROJECT_VERSION}), libhwloc-dev, libjpeg-dev, libnuma-dev")
if(PNG_FOUND)
    string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libpng-dev")
endif()
if(ZLIB_FOUND)
    string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", zlib1g-dev")
endif()
if(JANSSON_FOUND)
    string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libjansson-dev")
endif()
set(CPACK_COMPONENT_DEV_DESCRIPTION "This package contains the headers, the static library, sluice.pc \
for pkg-config, and what find_package(Sluice) of CMake reads.")

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME sluice)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "${library} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_TOOL_DESCRIPTION "This package contains the command sluice, which measures \
pipelines and packs datasets, and the example train_image_folder, which trains a small network on \
pictures in one folder per class.")

# The licence where Debian looks for it. Only cpack installs it, which asks for each component.
set(packaged lib dev tool)
if(has_formats)
    list(APPEND packaged formats)
endif()
foreach(component ${packaged})
    string(TOUPPER ${component} upper)
    install(FILES LICENSE DESTINATION share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}
        RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
if(TARGET sluice_tool) # and where zsh of Debian looks for completions of packages
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/completions/_sluice DESTINATION share/zsh/vendor-completions
        COMPONENT tool EXCLUDE_FROM_ALL)
endif()
include(CPack)
