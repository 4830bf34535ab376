/* Sorting items that carry a key and the index it came from; items are all different, so that every
 * order is stable. The includer defines ITEM, NAME(f), KEY_BYTES, BYTE_OF(item, k), LESS(a, b). */

/* Least significant byte first; bytes that are all equal are skipped. Returns where the result is:
 * items or spare. */
static ITEM *NAME(radix)(int64_t n, ITEM *items, ITEM *spare) {
    int64_t counts[KEY_BYTES][256] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < KEY_BYTES; k++) counts[k][BYTE_OF(items[i], k)]++;
    for (int k = 0; k < KEY_BYTES; k++) {
        if (counts[k][BYTE_OF(items[0], k)] == n) continue;
        int64_t sum = 0;
        for (int b = 0; b < 256; b++) {
            int64_t count = counts[k][b];
            counts[k][b] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) spare[counts[k][BYTE_OF(items[i], k)]++] = items[i];
        ITEM *swap = items;
        items = spare;
        spare = swap;
    }
    return items;
}

static void NAME(insertion)(int64_t n, ITEM *items) {
    for (int64_t i = 1; i < n; i++) {
        ITEM x = items[i];
        int64_t j = i;
        for (; j > 0 && LESS(x, items[j - 1]); j--) items[j] = items[j - 1];
        items[j] = x;
    }
}

static ITEM *NAME(order)(int64_t n, ITEM *items, ITEM *spare) {
    if (n > FEW) return NAME(radix)(n, items, spare);
    NAME(insertion)(n, items);
    return items;
}

/* Restores the heap (largest on top) below `at`. */
static void NAME(sink)(int64_t n, ITEM *heap, int64_t at, ITEM x) {
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && LESS(heap[child], heap[child + 1])) child++;
        if (!LESS(x, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

/* The first k of n in order. Few of many: they are kept in a heap, which then gives them up from
 * the largest down. */
static ITEM *NAME(first)(int64_t n, int64_t k, ITEM *items, ITEM *spare) {
    if (k == 0) return items;
    if (k * 8 > n) return NAME(order)(n, items, spare);
    for (int64_t i = k / 2; i-- > 0;) NAME(sink)(k, items, i, items[i]);
    for (int64_t i = k; i < n; i++)
        if (LESS(items[i], items[0])) NAME(sink)(k, items, 0, items[i]);
    for (int64_t last = k - 1; last > 0; last--) {
        ITEM x = items[last];
        items[last] = items[0];
        NAME(sink)(last, items, 0, x);
    }
    return items;
}
