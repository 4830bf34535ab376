/* float16 and bfloat16 one by one: exact to float32, and back rounded once, to nearest even. */
#ifndef DIP_HALF_H
#define DIP_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}
static inline float bits_float(uint32_t u) {
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static inline float bf16_to_f32(uint16_t h) { return bits_float((uint32_t)h << 16); }
static inline uint16_t f32_to_bf16(float v) {
    uint32_t u = float_bits(v), even = u + 0x7fff + (u >> 16 & 1);
    return (uint16_t)(v != v ? (u >> 16 | 0x40) : even >> 16);
}

/* The exponent is moved by a multiplication, which also makes denormals right. */
static inline float f16_to_f32(uint16_t h) {
    uint32_t em = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t normal = float_bits(bits_float(em) * 0x1p112f);
    uint32_t special = em | (em > 0x0f800000u ? 0x7fc00000u : 0x7f800000u); /* quiet NaN */
    return bits_float((em >= 0x0f800000u ? special : normal) | sign);
}
static inline uint16_t f32_to_f16(float v) {
    uint32_t u = float_bits(v), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    /* Adding 0.5 lines a denormal result's last bit up with the float's last bit. */
    uint32_t tiny = float_bits(bits_float(a) + 0.5f) - 0x3f000000u;
    uint32_t normal = (a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13;
    uint32_t h = a < 0x38800000u ? tiny : a >= 0x477ff000u ? 0x7c00u : normal;
    if (a > 0x7f800000u) h = 0x7e00u | (a >> 13 & 0x1ff);
    return (uint16_t)(h | sign);
}

#endif
