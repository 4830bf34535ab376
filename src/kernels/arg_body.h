/* The loops of arg.h for the compute type that CT_<type> names; I_OF is an integer of its width. */
#include "ops/words_c.h"

#include "kernels/lanes.h"

#define F(name) FN(name, any)

/* The extreme value goes through the lanes; then its first place is looked for, 64 at a time. */
static int64_t F(arg_row)(int64_t n, bool smallest, const void *data) {
    enum { STEP = 64 };
    const V *x = data;
    V best = smallest ? FN(row, min)(n, x, 0) : FN(row, max)(n, x, 0);
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        I_OF hit = 0;
        EACH(l, STEP) { hit |= (I_OF)((x[i + l] == best) | visnan(x[i + l])); }
        if (hit) break;
    }
    for (; i < n; i++)
        if (x[i] == best || visnan(x[i])) return i;
    return 0;
}

LANES_INLINE bool F(is_better)(V x, V best, bool smallest) {
    bool beyond = smallest ? x < best : x > best;
    return beyond | (visnan(x) & !visnan(best));
}

static void F(arg_columns)(int64_t n, int64_t stride, int w, bool smallest, const void *data,
                           int64_t *index) {
    V best[ARG_COLUMNS];
    I_OF at[ARG_COLUMNS];
    const V *x = data;
    for (int j = 0; j < w; j++) best[j] = x[j], at[j] = 0, index[j] = 0;
    for (int64_t begin = 0; begin < n; begin += INT32_MAX) {
        int64_t m = n - begin < INT32_MAX ? n - begin : INT32_MAX;
        for (int j = 0; j < w; j++) at[j] = -1;
        for (int64_t i = 0; i < m; i++) {
            const V *row = x + (begin + i) * stride;
            if (smallest) EACH(j, w) {
                    bool better = F(is_better)(row[j], best[j], true);
                    best[j] = better ? row[j] : best[j];
                    at[j] = better ? (I_OF)i : at[j];
                }
            else
                EACH(j, w) {
                    bool better = F(is_better)(row[j], best[j], false);
                    best[j] = better ? row[j] : best[j];
                    at[j] = better ? (I_OF)i : at[j];
                }
        }
        for (int j = 0; j < w; j++)
            if (at[j] >= 0) index[j] = begin + at[j];
    }
}

static bool F(arg_beats)(const void *data, int64_t i, int64_t j, bool smallest) {
    return F(is_better)(((const V *)data)[i], ((const V *)data)[j], smallest);
}

#undef F
#undef I_OF
#include "ops/words_undef.h"
