# Compiler flags: warnings, sanitizers, hardening.
#
# coex_compile_flags(target) sets the language standard and the warnings of a target. The flags of
# sanitizers and hardening apply to every target.

include(CheckCCompilerFlag)

set(COEX_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wpointer-arith -Wcast-qual -Wcast-align -Wwrite-strings -Wundef -Wvla
    -Wformat=2 -Wdouble-promotion -Wimplicit-fallthrough -Wredundant-decls)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND COEX_WARNINGS -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wtrampolines)
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang")
    # Both compilers allow calls of variadic macros without variadic arguments, as an extension.
    list(APPEND COEX_WARNINGS -Wcomma -Wconditional-uninitialized -Wmissing-variable-declarations
                              -Wno-gnu-zero-variadic-macro-arguments)
endif()

function(coex_compile_flags target)
    target_compile_options(${target} PRIVATE ${COEX_WARNINGS} $<$<BOOL:${COEX_WERROR}>:-Werror>)
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
endfunction()

# Each global variable has exactly one definition.
add_compile_options(-fno-common)

if(COEX_SANITIZE)
    set(COEX_SANITIZE_FLAGS -fsanitize=${COEX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_compile_options(${COEX_SANITIZE_FLAGS})
    add_link_options(${COEX_SANITIZE_FLAGS})
    # gcc warns that TSan does not model fences. The warning must not stop the build.
    if(COEX_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        add_compile_options(-Wno-error=tsan)
    endif()
endif()

# The libraries report coverage to libFuzzer. Only the fuzz targets link its main().
if(COEX_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "COEX_FUZZ needs clang")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
endif()

if(COEX_HARDEN)
    include(CheckPIESupported)
    check_pie_supported(LANGUAGES C)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    # Debian's compilers may predefine another level. -U avoids a redefinition.
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
                        -fno-delete-null-pointer-checks -fno-strict-overflow -ftrivial-auto-var-init=zero)
    foreach(flag -fstack-clash-protection -fcf-protection=full)
        string(MAKE_C_IDENTIFIER "COEX_HAS${flag}" has)
        check_c_compiler_flag(${flag} ${has})
        if(${has})
            add_compile_options(${flag})
        endif()
    endforeach()
    add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
