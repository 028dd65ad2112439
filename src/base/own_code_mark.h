/* Included into every source file of the library by the build (-include): notes where the machine code of the file
 * begins and ends, in a table that own_code.c reads. Compilers emit a file's top-level assembly first, and assemblers
 * put the subsection 8192 of a section behind all others, so the two labels enclose all functions of the file.
 * A row holds two distances from itself, so that it needs no relocation at run time.
 *
 * With link-time optimisation one file's assembly would enclose functions of other files: the build leaves this out. */
#ifndef CX_BASE_OWN_CODE_MARK_H
#define CX_BASE_OWN_CODE_MARK_H

#define CX_OWN_CODE_ROW(name, section)                                                                                             \
    __asm__(".pushsection " section ", \"ax\", %progbits\n"                                                                        \
            ".Lcx_own_" name "_begin:\n"                                                                                           \
            ".popsection\n"                                                                                                        \
            ".pushsection " section ", 8192, \"ax\", %progbits\n"                                                                  \
            ".Lcx_own_" name "_end:\n"                                                                                             \
            ".popsection\n"                                                                                                        \
            ".pushsection cx_own_code, \"a\", %progbits\n"                                                                         \
            ".balign 8\n"                                                                                                          \
            ".8byte .Lcx_own_" name "_begin - .\n"                                                                                 \
            ".8byte .Lcx_own_" name "_end - .\n"                                                                                   \
            ".popsection\n")

CX_OWN_CODE_ROW("text", ".text");
CX_OWN_CODE_ROW("unlikely", ".text.unlikely");   /* gcc's cold code */
CX_OWN_CODE_ROW("unlikely_", ".text.unlikely."); /* and clang's */

#endif
