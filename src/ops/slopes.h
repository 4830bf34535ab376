/* Longer values and slopes of ewise.def, as macros over the same words so that every reading has
 * them. */
#ifndef DIP_SLOPES_H
#define DIP_SLOPES_H

/* The larger side times sqrt(1 + ratio^2): squares of large sides would overflow. */
#define HYPOT_BIG(x, y)   vmax(vabs(x), vabs(y))
#define HYPOT_RATIO(x, y) vdiv(vmin(vabs(x), vabs(y)), HYPOT_BIG(x, y))
#define vhypot(x, y)                                                                               \
    vsel(bor(veq(HYPOT_BIG(x, y), vnum(0)), visinf(HYPOT_BIG(x, y))), HYPOT_BIG(x, y),             \
         vmul(HYPOT_BIG(x, y), vsqrt(vfma(HYPOT_RATIO(x, y), HYPOT_RATIO(x, y), vnum(1)))))

/* gelu_tanh = x s(u), u = x (a + b x^2): slope s + x s (1 - s) (a + 3 b x^2). */
#define GELU_U(x) vmul(x, vfma(vmul(x, x), vnum(0.07135481627159), vnum(1.59576912160573071176)))
#define vgelu_tanh_slope(x)                                                                        \
    vfma(vmul(x, vmul(vsigmoid(GELU_U(x)), vsub(vnum(1), vsigmoid(GELU_U(x))))),                   \
         vfma(vmul(x, x), vnum(0.21406444881477), vnum(1.59576912160573071176)),                   \
         vsigmoid(GELU_U(x)))

/* mish = x t, t = tanh(softplus(x)): slope t + x (1 - t^2) sigmoid(x). */
#define MISH_T(x) vtanh(vadd(vmax(x, vnum(0)), vlog1p(vexp(vneg(vabs(x))))))
#define vmish_slope(x)                                                                             \
    vfma(vmul(x, vsigmoid(x)), vsub(vnum(1), vmul(MISH_T(x), MISH_T(x))), MISH_T(x))

#endif
