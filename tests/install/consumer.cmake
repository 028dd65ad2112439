# An outside project that finds the installed package; the test copies it beside the README's example.
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C)
find_package(CoexGC $ENV{VERSION} REQUIRED)
add_executable(list_shared list.c)
target_link_libraries(list_shared PRIVATE CoexGC::coexgc)
add_executable(list_static list.c)
target_link_libraries(list_static PRIVATE CoexGC::coexgc_static)
