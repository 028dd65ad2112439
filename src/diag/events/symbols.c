/* See symbols.h. Everything that is read from the file is looked at before it is used: it may be any file. */
#include "diag/events/symbols.h"

#include "base/os.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS_MOST_BYTES = 256 << 20 }; /* of a table: more is no symbol table */

/* A piece of the file in memory; NULL: it is not there, or there is no memory. */
static void *symbols_read(FILE *file, uint64_t offset, uint64_t bytes)
{
    if (bytes == 0 || bytes > SYMBOLS_MOST_BYTES || offset > INT64_MAX) return NULL;
    void *piece = cx_os_allocate((size_t)bytes + 1); /* and a 0 behind it */
    if (piece != NULL && (fseek(file, (long)offset, SEEK_SET) != 0 || fread(piece, 1, (size_t)bytes, file) != bytes)) {
        cx_os_free(piece);
        return NULL;
    }
    return piece;
}

static bool symbols_is_elf(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_shentsize == sizeof(Elf64_Shdr) && head->e_phentsize == sizeof(Elf64_Phdr);
}

/* The full table if there is one, else the one that the loader needs. */
static const Elf64_Shdr *symbols_section(const Elf64_Shdr *sections, unsigned count)
{
    const Elf64_Shdr *found = NULL;
    for (unsigned i = 0; i < count; i++) {
        bool full = sections[i].sh_type == SHT_SYMTAB;
        if ((full || (sections[i].sh_type == SHT_DYNSYM && found == NULL)) && sections[i].sh_link < count) found = &sections[i];
        if (full) break;
    }
    return found;
}

/* Where an address of the program lies in its file; UINT64_MAX: nowhere. */
static uint64_t symbols_offset(const Elf64_Phdr *segments, unsigned count, uint64_t address)
{
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz)
            return address - segment->p_vaddr + segment->p_offset;
    }
    return UINT64_MAX;
}

static int symbols_compare(const void *a, const void *b)
{
    const struct cx_symbol *left = a, *right = b;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static bool symbols_take(struct cx_symbols *symbols, const Elf64_Sym *table, size_t count, const Elf64_Phdr *segments,
                         unsigned phnum)
{
    symbols->symbol = cx_os_allocate((count + 1) * sizeof *symbols->symbol);
    if (symbols->symbol == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = symbols_offset(segments, phnum, table[i].st_value);
        if (ELF64_ST_TYPE(table[i].st_info) != STT_FUNC || table[i].st_shndx == SHN_UNDEF || offset == UINT64_MAX ||
            table[i].st_name >= symbols->names_size)
            continue;
        symbols->symbol[symbols->count++] = (struct cx_symbol){offset, table[i].st_size, table[i].st_name};
    }
    qsort(symbols->symbol, symbols->count, sizeof *symbols->symbol, symbols_compare);
    return symbols->count != 0;
}

static bool symbols_load_from(struct cx_symbols *symbols, FILE *file)
{
    Elf64_Ehdr head;
    if (fread(&head, 1, sizeof head, file) != sizeof head || !symbols_is_elf(&head)) return false;
    Elf64_Shdr *sections = symbols_read(file, head.e_shoff, (uint64_t)head.e_shnum * sizeof *sections);
    Elf64_Phdr *segments = symbols_read(file, head.e_phoff, (uint64_t)head.e_phnum * sizeof *segments);
    const Elf64_Shdr *section = sections != NULL && segments != NULL ? symbols_section(sections, head.e_shnum) : NULL;
    Elf64_Sym *table = NULL;
    bool good = false;
    if (section != NULL) {
        const Elf64_Shdr *names = &sections[section->sh_link];
        table = symbols_read(file, section->sh_offset, section->sh_size);
        symbols->names = symbols_read(file, names->sh_offset, names->sh_size);
        symbols->names_size = (size_t)names->sh_size;
        good = table != NULL && symbols->names != NULL &&
               symbols_take(symbols, table, (size_t)(section->sh_size / sizeof *table), segments, head.e_phnum);
    }
    cx_os_free(table);
    cx_os_free(segments);
    cx_os_free(sections);
    return good;
}

bool cx_symbols_load(struct cx_symbols *symbols, const char *path)
{
    *symbols = (struct cx_symbols){0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    bool good = symbols_load_from(symbols, file);
    fclose(file);
    if (!good) cx_symbols_free(symbols);
    return good;
}

const char *cx_symbols_find(const struct cx_symbols *symbols, uint64_t offset, char *name, size_t room)
{
    size_t low = 0, high = symbols->count; /* the last that begins at or before it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->symbol[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return NULL;
    const struct cx_symbol *symbol = &symbols->symbol[low - 1];
    if (symbol->size != 0 && offset - symbol->offset >= symbol->size) return NULL;
    snprintf(name, room, "%s", symbols->names + symbol->name);
    static const char *const added[] = {".isra.", ".constprop.", ".part.", ".cold", ".lto_priv."};
    for (size_t i = 0; i < sizeof added / sizeof added[0]; i++) {
        char *at = strstr(name, added[i]);
        if (at != NULL && at != name) *at = '\0';
    }
    return name[0] != '\0' ? name : NULL;
}

void cx_symbols_free(struct cx_symbols *symbols)
{
    cx_os_free(symbols->symbol);
    cx_os_free(symbols->names);
    *symbols = (struct cx_symbols){0};
}
