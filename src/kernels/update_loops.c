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

LOOP(adam_ahead) {
    ADAM_COMMON
    NUMBER(weight_m, N_AHEAD)
    NUMBER(weight_g, N_NOW)
    const V *grad = in[3];
    EACH {
        V g = grad[i] * scale + decay * param[i];
        V m = beta1 * old_m[i] + rest1 * g, v = beta2 * old_v[i] + rest2 * (g * g);
        new_m[i] = m;
        new_v[i] = v;
        V ahead = weight_m * m + weight_g * g;
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
    const bool adds = k[N_ADDS] != 0;
    const V *accum = in[1], *grad = in[2];
    V *new_accum = out[1];
    EACH {
        V g = grad[i] * scale + decay * param[i], a = adds ? accum[i] + g * g : accum[i];
        new_accum[i] = a;
        new_param[i] = param[i] - lr * g / (root(a) + eps);
    }
}

LOOP(adadelta) {
    COMMON
    NUMBER(rho, N_RHO)
    NUMBER(eps, N_EPS2)
    const V rest = (V)(1 - k[N_RHO]);
    const V *accum = in[1], *accum_update = in[2], *grad = in[3];
    V *new_accum = out[1], *new_update = out[2];
    EACH {
        V g = grad[i] * scale + decay * param[i], a = rho * accum[i] + rest * (g * g);
        V delta = root(accum_update[i] + eps) / root(a + eps) * g;
        new_accum[i] = a;
        new_update[i] = rho * accum_update[i] + rest * (delta * delta);
        new_param[i] = param[i] - lr * delta;
    }
}

LOOP(adamax) {
    COMMON
    NUMBER(beta1, N_BETA1)
    NUMBER(beta2, N_BETA2)
    NUMBER(eps, N_EPS)
    const V rest1 = (V)(1 - k[N_BETA1]);
    const V *old_m = in[1], *old_v = in[2], *grad = in[3];
    V *new_m = out[1], *new_v = out[2];
    EACH {
        V g = grad[i] * scale + decay * param[i], size = g < 0 ? -g : g;
        V m = beta1 * old_m[i] + rest1 * g, v = larger(size, beta2 * old_v[i]);
        new_m[i] = m;
        new_v[i] = v;
        new_param[i] = param[i] - lr * m / (v + eps);
    }
}

/* The first pass of lamb: the weights wait for the norms. */
LOOP(lamb_moments) {
    NUMBER(scale, N_SCALE)
    NUMBER(beta1, N_BETA1)
    NUMBER(beta2, N_BETA2)
    const V rest1 = (V)(1 - k[N_BETA1]), rest2 = (V)(1 - k[N_BETA2]);
    const V *old_m = in[1], *old_v = in[2], *grad = in[3];
    V *new_m = out[1], *new_v = out[2];
    EACH {
        V g = grad[i] * scale;
        new_m[i] = beta1 * old_m[i] + rest1 * g;
        new_v[i] = beta2 * old_v[i] + rest2 * (g * g);
    }
}

#define LAMB_NUMBERS                                                                               \
    NUMBER(decay, N_OWN_DECAY)                                                                     \
    NUMBER(mean, N_MEAN)                                                                           \
    NUMBER(stretch, N_ROOT)                                                                        \
    NUMBER(eps, N_EPS)                                                                             \
    const V *param = in[0], *m = in[1], *v = in[2];
#define LAMB_STEP (m[i] * mean / (root(v[i]) * stretch + eps) + decay * param[i])

static void lamb_norms(int64_t n, const void *const *in, const double *k, NormLanes *lanes) {
    LAMB_NUMBERS
    for (int64_t at = 0; at < n; at += NORM_LANES) {
        const int64_t end = n - at < NORM_LANES ? n - at : NORM_LANES;
        for (int64_t l = 0; l < end; l++) {
            const int64_t i = at + l;
            const double p = param[i], u = LAMB_STEP;
            lanes->param[l] += p * p;
            lanes->step[l] += u * u;
        }
    }
}

/* The second pass; m and v are new. lr has the quotient of the norms in it. */
LOOP(lamb) {
    LAMB_NUMBERS
    NUMBER(lr, N_LR)
    V *new_param = out[0];
    EACH new_param[i] = param[i] - lr * LAMB_STEP;
}

static inline V power(V x, V y) { return sizeof(V) == sizeof(float) ? powf(x, y) : (V)pow(x, y); }

LOOP(ftrl) {
    COMMON
    NUMBER(l1, N_L1)
    NUMBER(l2, N_L2)
    NUMBER(exponent, N_POWER)
    const bool is_root = k[N_POWER] == 0.5;
    const V *accum = in[1], *linear = in[2], *grad = in[3];
    V *new_accum = out[1], *new_linear = out[2];
    for (int64_t i = 0; i < n; i++) {
        V g = grad[i] * scale + decay * param[i], a = accum[i] + g * g;
        V before = is_root ? root(accum[i]) : power(accum[i], exponent);
        V after = is_root ? root(a) : power(a, exponent);
        V z = linear[i] + g - (after - before) / lr * param[i];
        V beyond = z > l1 ? l1 - z : z < -l1 ? -l1 - z : z != z ? z : 0;
        new_accum[i] = a;
        new_linear[i] = z;
        new_param[i] = beyond / (after / lr + 2 * l2);
    }
}

LOOP(rprop) {
    COMMON
    NUMBER(minus, N_ETA_MINUS)
    NUMBER(plus, N_ETA_PLUS)
    NUMBER(low, N_SIZE_MIN)
    NUMBER(high, N_SIZE_MAX)
    const bool is_first = k[N_IS_FIRST] != 0;
    const V *prev = in[1], *size = in[2], *grad = in[3];
    V *new_prev = out[1], *new_size = out[2];
    EACH {
        V g = grad[i] * scale + decay * param[i], turn = g * prev[i];
        V s = (is_first ? lr : size[i]) * (turn > 0 ? plus : turn < 0 ? minus : 1);
        s = s < low ? low : s > high ? high : s;
        g = turn < 0 ? 0 : g;
        new_prev[i] = g;
        new_size[i] = s;
        new_param[i] = param[i] - (g > 0 ? s : g < 0 ? -s : g);
    }
}

LOOP(asgd) {
    COMMON
    NUMBER(keep, N_KEEP)
    NUMBER(mu, N_MU)
    const bool follows = k[N_MU] == 1;
    const V *average = in[1], *grad = in[2];
    V *new_average = out[1];
    EACH {
        V g = grad[i] * scale + decay * param[i], p = param[i] * keep - lr * g;
        new_average[i] = follows ? p : average[i] + (p - average[i]) * mu;
        new_param[i] = p;
    }
}

#define TABLE_NAME2(isa, ct) update_##isa##_##ct
#define TABLE_NAME1(isa, ct) TABLE_NAME2(isa, ct)
extern const UpdateLoops TABLE_NAME1(ISA, CT);

const UpdateLoops TABLE_NAME1(ISA, CT) = {
    {
        [UPDATE_SGD] = sgd,
        [UPDATE_MOMENTUM] = momentum,
        [UPDATE_NESTEROV] = nesterov,
        [UPDATE_ADAM] = adam,
        [UPDATE_ADAM_AHEAD] = adam_ahead,
        [UPDATE_AMSGRAD] = amsgrad,
        [UPDATE_RMSPROP] = rmsprop,
        [UPDATE_RMSPROP_CENTERED] = rmsprop_centered,
        [UPDATE_ADAGRAD] = adagrad,
        [UPDATE_ADADELTA] = adadelta,
        [UPDATE_ADAMAX] = adamax,
        [UPDATE_LAMB_MOMENTS] = lamb_moments,
        [UPDATE_LAMB] = lamb,
        [UPDATE_FTRL] = ftrl,
        [UPDATE_RPROP] = rprop,
        [UPDATE_ASGD] = asgd,
    },
    lamb_norms,
};
