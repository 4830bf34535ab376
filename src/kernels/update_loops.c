/* Optimiser rules as plain loops, vectorised by the compiler. One element depends on itself alone,
 * so results do not depend on threads; no fused multiply-add, so that all instruction sets agree.
 *
 * Compiled with -DISA=base|avx2|avx512 and -DCT=f32|f64, -DV=float|double. Gives update_<ISA>_<CT>.
 */
#include <math.h>

#include "kernels/update.h"

#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < n; i++)
#else
#define EACH _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#endif

#define LOOP(name)                                                                                 \
    static void name(int64_t n, void *const *out, const void *const *in, const double *k)
#define NUMBER(name, which) const V name = (V)k[which];
#define COMMON                                                                                     \
    NUMBER(scale, N_SCALE) NUMBER(decay, N_DECAY) NUMBER(lr, N_LR) V *new_param = out[0];          \
    const V *param = in[0];

static inline V root(V x) { return sizeof(V) == sizeof(float) ? sqrtf((float)x) : (V)sqrt(x); }
/* NaN stays. */
static inline V larger(V x, V y) { return x > y || x != x ? x : y; }

LOOP(sgd) {
    COMMON
    const V *grad = in[1];
    EACH {
        V g = grad[i] * scale + decay * param[i];
        new_param[i] = param[i] - lr * g;
    }
}

LOOP(momentum) {
    COMMON
    NUMBER(mu, N_MOMENTUM)
    NUMBER(undamped, N_UNDAMPED)
    const V *accum = in[1], *grad = in[2];
    V *new_accum = out[1];
    EACH {
        V g = grad[i] * scale + decay * param[i], a = accum[i] * mu + undamped * g;
        new_accum[i] = a;
        new_param[i] = param[i] - lr * a;
    }
}

LOOP(nesterov) {
    COMMON
    NUMBER(mu, N_MOMENTUM)
    NUMBER(undamped, N_UNDAMPED)
    const V *accum = in[1], *grad = in[2];
    V *new_accum = out[1];
    EACH {
        V g = grad[i] * scale + decay * param[i], a = accum[i] * mu + undamped * g;
        new_accum[i] = a;
        new_param[i] = param[i] - lr * (g + mu * a);
    }
}

#define ADAM_COMMON                                                                                \
    COMMON                                                                                         \
    NUMBER(shrink, N_SHRINK)                                                                       \
    NUMBER(stretch, N_ROOT)                                                                        \
    NUMBER(eps, N_EPS)                                                                             \
    NUMBER(beta1, N_BETA1)                                                                         \
    NUMBER(beta2, N_BETA2)                                                                         \
    const V rest1 = (V)(1 - k[N_BETA1]), rest2 = (V)(1 - k[N_BETA2]);                              \
    const V *old_m = in[1], *old_v = in[2];                                                        \
    V *new_m = out[1], *new_v = out[2];

LOOP(adam) {
    ADAM_COMMON
    const V *grad = in[3];
    EACH {
        V g = grad[i] * scale + decay * param[i];
        V m = beta1 * old_m[i] + rest1 * g, v = beta2 * old_v[i] + rest2 * (g * g);
        new_m[i] = m;
        new_v[i] = v;
        new_param[i] = param[i] * shrink - lr * m / (root(v) * stretch + eps);
    }
}

LOOP(nadam) {
    ADAM_COMMON
    const V *grad = in[3];
    EACH {
        V g = grad[i] * scale + decay * param[i];
        V m = beta1 * old_m[i] + rest1 * g, v = beta2 * old_v[i] + rest2 * (g * g);
        new_m[i] = m;
        new_v[i] = v;
        V ahead = beta1 * m + rest1 * g;
        new_param[i] = param[i] * shrink - lr * ahead / (root(v) * stretch + eps);
    }
}

LOOP(amsgrad) {
    ADAM_COMMON
    const V *old_max = in[3], *grad = in[4];
    V *new_max = out[3];
    EACH {
        V g = grad[i] * scale + decay * param[i];
        V m = beta1 * old_m[i] + rest1 * g, v = beta2 * old_v[i] + rest2 * (g * g);
        V top = larger(v, old_max[i]);
        new_m[i] = m;
        new_v[i] = v;
        new_max[i] = top;
        new_param[i] = param[i] * shrink - lr * m / (root(top) * stretch + eps);
    }
}

LOOP(rmsprop) {
    COMMON
    NUMBER(rho, N_RHO)
    NUMBER(mu, N_MOMENT)
    NUMBER(eps, N_EPS2)
    const V rest = (V)(1 - k[N_RHO]);
    const V *square = in[1], *moment = in[2], *grad = in[3];
    V *new_square = out[1], *new_moment = out[2];
    EACH {
        V g = grad[i] * scale + decay * param[i], s = rho * square[i] + rest * (g * g);
        V m = mu * moment[i] + lr * g / root(s + eps);
        new_square[i] = s;
        new_moment[i] = m;
        new_param[i] = param[i] - m;
    }
}

LOOP(rmsprop_centered) {
    COMMON
    NUMBER(rho, N_RHO)
    NUMBER(mu, N_MOMENT)
    NUMBER(eps, N_EPS2)
    const V rest = (V)(1 - k[N_RHO]);
    const V *square = in[1], *mean = in[2], *moment = in[3], *grad = in[4];
    V *new_square = out[1], *new_mean = out[2], *new_moment = out[3];
    EACH {
        V g = grad[i] * scale + decay * param[i], s = rho * square[i] + rest * (g * g);
        V a = rho * mean[i] + rest * g;
        V m = mu * moment[i] + lr * g / root(s - a * a + eps);
        new_square[i] = s;
        new_mean[i] = a;
        new_moment[i] = m;
        new_param[i] = param[i] - m;
    }
}

LOOP(adagrad) {
    COMMON
    NUMBER(eps, N_EPS3)
    const V *accum = in[1], *grad = in[2];
    V *new_accum = out[1];
    EACH {
        V g = grad[i] * scale + decay * param[i], a = accum[i] + g * g;
        new_accum[i] = a;
        new_param[i] = param[i] - lr * g / (root(a) + eps);
    }
}

#define TABLE_NAME2(isa, ct) update_##isa##_##ct
#define TABLE_NAME1(isa, ct) TABLE_NAME2(isa, ct)
extern const UpdateLoops TABLE_NAME1(ISA, CT);

const UpdateLoops TABLE_NAME1(ISA, CT) = {{
    [UPDATE_SGD] = sgd,
    [UPDATE_MOMENTUM] = momentum,
    [UPDATE_NESTEROV] = nesterov,
    [UPDATE_ADAM] = adam,
    [UPDATE_NADAM] = nadam,
    [UPDATE_AMSGRAD] = amsgrad,
    [UPDATE_RMSPROP] = rmsprop,
    [UPDATE_RMSPROP_CENTERED] = rmsprop_centered,
    [UPDATE_ADAGRAD] = adagrad,
}};
