/* Coex values: immutable strings, arrays, lists, maps and sets that share structure, the cells and channels that threads share them
 * through. Handle in, handle out. value.h tells what holds for all of them: errors, rooting, threads. */
#ifndef COEX_VALUES_H
#define COEX_VALUES_H

#include <coex/values/value.h>
#include <coex/values/list.h>
#include <coex/values/cell.h>
#include <coex/values/array.h>
#include <coex/values/string.h>
#include <coex/values/channel.h>
#include <coex/values/map.h>
#include <coex/values/set.h>

#endif
