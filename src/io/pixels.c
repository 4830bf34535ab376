/* One table an image channel: the loads hit the first cache, so a pass costs little more than
 * writing its result. */
#include "io/pixels.h"

static void lookup_plane(const uint8_t *src, int64_t stride, int64_t n, const uint32_t *table,
                         uint32_t *dst) {
    for (int64_t i = 0; i < n; i++) dst[i] = table[src[i * stride]];
}

static void lookup_row(const uint8_t *src, int64_t channels, const uint32_t *tables,
                       uint32_t *dst) {
    for (int64_t c = 0; c < channels; c++) dst[c] = tables[256 * c + src[c]];
}

void pixels_lookup(const PixelLookup *p, uint32_t *dst) {
    int64_t size = p->pixels * p->channels;
    if (p->channels == 1) {
        lookup_plane(p->src, 1, p->images * p->pixels, p->tables, dst);
        return;
    }
    if (!p->channels_first) {
        for (int64_t i = 0; i < p->images * p->pixels; i++)
            lookup_row(p->src + i * p->channels, p->channels, p->tables, dst + i * p->channels);
        return;
    }
    for (int64_t i = 0; i < p->images; i++)
        for (int64_t c = 0; c < p->channels; c++)
            lookup_plane(p->src + i * size + c, p->channels, p->pixels, p->tables + 256 * c,
                         dst + i * size + c * p->pixels);
}
