# Installs the headers, the libraries, the pkg-config files, the CMake package CoexGC, the man pages
# and the gdb commands. tools/CMakeLists.txt installs the command coexgc.
#
# The pkg-config files and the CMake package use relative paths, so the installed tree can be moved.

include(CMakePackageConfigHelpers)

set(COEX_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/CoexGC)
set(COEX_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/coex DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS coexgc coexgc_static coexvalues coexvalues_static EXPORT CoexGCTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

install(EXPORT CoexGCTargets NAMESPACE CoexGC:: DESTINATION ${COEX_CMAKE_DIR})
configure_package_config_file(cmake/CoexGCConfig.cmake.in ${PROJECT_BINARY_DIR}/CoexGCConfig.cmake
                              INSTALL_DESTINATION ${COEX_CMAKE_DIR})
# Before version 1.0, a minor version may change the ABI.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CoexGCConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CoexGCConfig.cmake ${PROJECT_BINARY_DIR}/CoexGCConfigVersion.cmake
        DESTINATION ${COEX_CMAKE_DIR})

file(RELATIVE_PATH COEX_PC_TO_PREFIX "/prefix/${COEX_PKGCONFIG_DIR}" "/prefix")
string(REGEX REPLACE "/$" "" COEX_PC_TO_PREFIX "${COEX_PC_TO_PREFIX}")
if(COEX_CHECKED)
    set(COEX_PC_CFLAGS " -DCOEX_GC_CHECKED=1")
endif()
foreach(library coexgc coexvalues)
    configure_file(cmake/${library}.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${COEX_PKGCONFIG_DIR})
endforeach()

file(GLOB COEX_MAN_PAGES CONFIGURE_DEPENDS docs/reference/man/*.1)
install(FILES ${COEX_MAN_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES tools/gdb/coex.py DESTINATION ${CMAKE_INSTALL_DATADIR}/coexgc/gdb)
