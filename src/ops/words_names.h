/* words_names.h: the list of neutral words and what each means, in every reading.
 *
 * V is the value type of the compute type, B a mask, I the integer as wide as V (float types
 * only). Each word expands to its name with the compute type's suffix: vadd -> vadd_f32.
 *
 *   vnum(c)                 the constant c, rounded to V
 *   vadd vsub vmul vneg vabs  integers wrap around; bool: or, xor, and, same, same
 *   vdiv vsqrt              float types only; correctly rounded
 *   vfma(a, b, c)           a * b + c, one rounding where the CPU has it, else two
 *   vmin vmax               NaN if either is NaN; -0 < +0; bool: and, or
 *   vfloor vceil vround vtrunc  vround: halves to even; -0 and infinities stay; integers: same
 *   vsign                   -1, 0, 1; NaN stays NaN; sign of -0 is +0
 *   vcopysign(a, b)         |a| with the sign bit of b
 *   vlt vle vgt vge veq vne -> B; false with NaN, except vne
 *   visnan visinf           -> B
 *   band bor bnot           on B
 *   vsel(m, a, b)           m ? a : b
 *   vfloordiv vfloormod     Python's // and %: floats the floor of the exact quotient and the exact
 *                           remainder with the divisor's sign, inf // y = NaN, x // 0 = x / 0;
 *                           integers x // 0 = 0, x % 0 = 0, MIN // -1 = MIN
 *   vtruncdiv vtruncmod     C's / and fmod, with the same rule for zero
 *   vtruncmod_near vfloormod_near vfloordiv_near   float types: the same, cheaper, where
 *                           vis_mod_near(x, y) holds
 *   vand vor vxor vnot      integers and bool
 *   vshl vshr               a shift count outside 0 .. bits-1 gives 0, or -1 for a negative
 *                           signed value shifted right; vshr of signed values fills with the sign
 *
 * Words for math.def (float types):
 *   ibits(v) -> I, vbits(i) -> V   the bit pattern, unchanged
 *   inum iadd isub iand ior ixor ishl ishr(logical)   wrap-around integer arithmetic on I
 *   isel(m, a, b)           select between I
 *   VTABLE(name, ...) vtable(name, i)   a constant table, and its element at a lane's own index
 *   W                       the next wider type, for f32 only: wide(v) -> W, narrow(w) -> V, wnum
 *                           wadd wsub wmul wge wsel
 *   vmullo(a, b, p)         the exact a * b - p for p = vmul(a, b) or next to it, barring overflow
 *                           of 2^13 * a (f64: 2^27 * a) and underflow of the low half
 *
 * math.def defines on top of these: vexp vexp2 vexpm1 vlog vlog2 vlog10 vlog1p vtanh vsigmoid
 * verf verfc verfinv vsin vcos vtan vasin vacos vatan vatan2 vsinh vcosh vasinh vacosh vatanh
 * vpow vcbrt vlgamma vdigamma vtrigamma; and vsin_near vcos_near vtan_near, cheaper where vis_near
 * holds.
 */
#ifndef DIP_WORDS_NAMES
#define DIP_WORDS_NAMES
#define vadd      WORD_NAME(vadd, CT_NAME)
#define vsub      WORD_NAME(vsub, CT_NAME)
#define vmul      WORD_NAME(vmul, CT_NAME)
#define vdiv      WORD_NAME(vdiv, CT_NAME)
#define vfma      WORD_NAME(vfma, CT_NAME)
#define vneg      WORD_NAME(vneg, CT_NAME)
#define vabs      WORD_NAME(vabs, CT_NAME)
#define vsqrt     WORD_NAME(vsqrt, CT_NAME)
#define vmin      WORD_NAME(vmin, CT_NAME)
#define vmax      WORD_NAME(vmax, CT_NAME)
#define vfloor    WORD_NAME(vfloor, CT_NAME)
#define vceil     WORD_NAME(vceil, CT_NAME)
#define vround    WORD_NAME(vround, CT_NAME)
#define vtrunc    WORD_NAME(vtrunc, CT_NAME)
#define vsign     WORD_NAME(vsign, CT_NAME)
#define vcopysign WORD_NAME(vcopysign, CT_NAME)
#define vlt       WORD_NAME(vlt, CT_NAME)
#define vle       WORD_NAME(vle, CT_NAME)
#define vgt       WORD_NAME(vgt, CT_NAME)
#define vge       WORD_NAME(vge, CT_NAME)
#define veq       WORD_NAME(veq, CT_NAME)
#define vne       WORD_NAME(vne, CT_NAME)
#define visnan    WORD_NAME(visnan, CT_NAME)
#define visinf    WORD_NAME(visinf, CT_NAME)
#define band      WORD_NAME(band, CT_NAME)
#define bor       WORD_NAME(bor, CT_NAME)
#define bnot      WORD_NAME(bnot, CT_NAME)
#define vsel      WORD_NAME(vsel, CT_NAME)
#define vfloordiv WORD_NAME(vfloordiv, CT_NAME)
#define vfloormod WORD_NAME(vfloormod, CT_NAME)
#define vtruncdiv WORD_NAME(vtruncdiv, CT_NAME)
#define vtruncmod WORD_NAME(vtruncmod, CT_NAME)
#define vand      WORD_NAME(vand, CT_NAME)
#define vor       WORD_NAME(vor, CT_NAME)
#define vxor      WORD_NAME(vxor, CT_NAME)
#define vnot      WORD_NAME(vnot, CT_NAME)
#define vshl      WORD_NAME(vshl, CT_NAME)
#define vshr      WORD_NAME(vshr, CT_NAME)
#define ibits     WORD_NAME(ibits, CT_NAME)
#define vbits     WORD_NAME(vbits, CT_NAME)
#define iadd      WORD_NAME(iadd, CT_NAME)
#define isub      WORD_NAME(isub, CT_NAME)
#define iand      WORD_NAME(iand, CT_NAME)
#define ior       WORD_NAME(ior, CT_NAME)
#define ixor      WORD_NAME(ixor, CT_NAME)
#define ishl      WORD_NAME(ishl, CT_NAME)
#define ishr      WORD_NAME(ishr, CT_NAME)
#define isel      WORD_NAME(isel, CT_NAME)
#define vmullo    WORD_NAME(vmullo, CT_NAME)
#define vexp      WORD_NAME(vexp, CT_NAME)
#define vexp2     WORD_NAME(vexp2, CT_NAME)
#define vexpm1    WORD_NAME(vexpm1, CT_NAME)
#define vlog      WORD_NAME(vlog, CT_NAME)
#define vlog2     WORD_NAME(vlog2, CT_NAME)
#define vlog10    WORD_NAME(vlog10, CT_NAME)
#define vlog1p    WORD_NAME(vlog1p, CT_NAME)
#define vtanh     WORD_NAME(vtanh, CT_NAME)
#define vsigmoid  WORD_NAME(vsigmoid, CT_NAME)
#define verf      WORD_NAME(verf, CT_NAME)
#define verfc     WORD_NAME(verfc, CT_NAME)
#define verfinv   WORD_NAME(verfinv, CT_NAME)
#define vsin      WORD_NAME(vsin, CT_NAME)
#define vcos      WORD_NAME(vcos, CT_NAME)
#define vis_near  WORD_NAME(vis_near, CT_NAME)
#define vsin_near WORD_NAME(vsin_near, CT_NAME)
#define vcos_near WORD_NAME(vcos_near, CT_NAME)
#define vtan_near WORD_NAME(vtan_near, CT_NAME)
#define vtan      WORD_NAME(vtan, CT_NAME)
#define vasin     WORD_NAME(vasin, CT_NAME)
#define vacos     WORD_NAME(vacos, CT_NAME)
#define vatan     WORD_NAME(vatan, CT_NAME)
#define vatan2    WORD_NAME(vatan2, CT_NAME)
#define vsinh     WORD_NAME(vsinh, CT_NAME)
#define vcosh     WORD_NAME(vcosh, CT_NAME)
#define vasinh    WORD_NAME(vasinh, CT_NAME)
#define vacosh    WORD_NAME(vacosh, CT_NAME)
#define vatanh    WORD_NAME(vatanh, CT_NAME)
#define vpow      WORD_NAME(vpow, CT_NAME)
#define vcbrt     WORD_NAME(vcbrt, CT_NAME)
#define vlgamma   WORD_NAME(vlgamma, CT_NAME)
#define vdigamma  WORD_NAME(vdigamma, CT_NAME)
#define vtrigamma WORD_NAME(vtrigamma, CT_NAME)

#define vis_mod_near   WORD_NAME(vis_mod_near, CT_NAME)
#define vtruncmod_near WORD_NAME(vtruncmod_near, CT_NAME)
#define vfloormod_near WORD_NAME(vfloormod_near, CT_NAME)
#define vfloordiv_near WORD_NAME(vfloordiv_near, CT_NAME)
#endif
