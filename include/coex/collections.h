/* Coex values: immutable strings, arrays, lists, maps and sets that share structure, the cells and channels that threads share them
 * through. Handle in, handle out. value.h tells what holds for all of them: errors, rooting, threads. */
#ifndef COEX_COLLECTIONS_H
#define COEX_COLLECTIONS_H

#include <coex/collections/value.h>
#include <coex/collections/list.h>
#include <coex/collections/cell.h>
#include <coex/collections/array.h>
#include <coex/collections/string.h>
#include <coex/collections/channel.h>
#include <coex/collections/map.h>
#include <coex/collections/set.h>

#endif
