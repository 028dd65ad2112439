/* Coex values: immutable strings, arrays, lists, maps and sets that share structure, and the cells
 * and channels with which threads share them. <coex/values/value.h> has the rules for all of them:
 * errors, rooting and threads. JSON is separate, in <coex/values/json.h>. */
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
