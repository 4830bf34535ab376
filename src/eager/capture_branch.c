/* Both sides of a branch, captured one after the other, with the parameters they change.
 *
 * What a side does to parameters and their gradients is taken back at its end, so that the other
 * side starts as it did; what changed on either side becomes further results of the If, and is what
 * the parameters hold from there on. A gradient that only one side has is zero on the other. */
#include <stdlib.h>

#include "base/memory.h"
#include "eager/capture.h"
#include "eager/dispatch.h"
#include "eager/param.h"

typedef struct State {
    Tensor *value, *grad; /* owned; grad may be NULL */
} State;

typedef struct States {
    uint32_t n; /* parameters that the capture knew then */
    State *at;
} States;

static States states_now(const Capture *c) {
    States s = {.n = capture_nparams(c)};
    s.at = checked(calloc((size_t)s.n + 1, sizeof *s.at));
    for (uint32_t i = 0; i < s.n; i++) {
        const Param *p = capture_param(c, i);
        s.at[i] = (State){tensor_alias(p->value), p->grad ? tensor_ref(p->grad) : NULL};
    }
    return s;
}

static void states_free(States *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        tensor_unref(s->at[i].value);
        tensor_unref(s->at[i].grad);
    }
    free(s->at);
}

/* The state of parameter i in s, or as the capture found it. New references. */
static State state_of(Capture *c, const States *s, uint32_t i) {
    State found;
    if (i >= s->n)
        capture_entry(c, i, &found.value, &found.grad);
    else
        found =
            (State){tensor_alias(s->at[i].value), s->at[i].grad ? tensor_ref(s->at[i].grad) : NULL};
    return found;
}

static bool is_same(const Tensor *a, const Tensor *b) {
    return a == b || (a && b && a->symbol == b->symbol);
}

static Status put(Param *p, State s) {
    if (!is_same(p->grad, s.grad)) TRY(param_set_grad(p, s.grad));
    if (is_same(p->value, s.value)) return OK;
    TRY(param_assign(p, s.value));
    capture_show(p);
    return OK;
}

static Status put_back(Capture *c, const States *before) {
    Status status = OK;
    for (uint32_t i = 0; i < capture_nparams(c) && status == OK; i++) {
        State s = state_of(c, before, i);
        status = put(capture_param(c, i), s);
        tensor_unref(s.value);
        tensor_unref(s.grad);
    }
    return status;
}

/* ---- the pairs that the If hands out */

typedef struct Pairs {
    int n, cap;
    Tensor **then, **other; /* owned from `given` on */
} Pairs;

static void pair_up(Pairs *p, Tensor *a, Tensor *b) {
    if (p->n == p->cap) {
        p->cap = 2 * p->cap + 16;
        p->then = checked(realloc(p->then, (size_t)p->cap * sizeof *p->then));
        p->other = checked(realloc(p->other, (size_t)p->cap * sizeof *p->other));
    }
    p->then[p->n] = a;
    p->other[p->n++] = b;
}

static Status zeros_like(const Tensor *t, Tensor **out) {
    AUTO_TENSOR made = NULL;
    TRY(tensor_fill(&t->type, 0, &made));
    *out = capture_symbolic(made);
    return OK;
}

/* 1 + where the results stand for a parameter that a side changed; 0: neither did. */
typedef struct Place {
    int value, grad;
} Place;

static Status pair_states(Pairs *pairs, State a, State b, Place *place) {
    if (!is_same(a.value, b.value)) {
        pair_up(pairs, tensor_ref(a.value), tensor_ref(b.value));
        place->value = pairs->n;
    }
    if (is_same(a.grad, b.grad)) return OK;
    Tensor *ga = a.grad ? tensor_ref(a.grad) : NULL, *gb = b.grad ? tensor_ref(b.grad) : NULL;
    Status status = ga ? OK : zeros_like(gb, &ga);
    if (status == OK && !gb) status = zeros_like(ga, &gb);
    if (status != OK) {
        tensor_unref(ga);
        tensor_unref(gb);
        return status;
    }
    pair_up(pairs, ga, gb);
    place->grad = pairs->n;
    return OK;
}

/* Gives the parameters what the If hands out for them. */
static Status put_joined(Capture *c, const States *then, const Place *places, Tensor *const *out) {
    Status status = OK;
    for (uint32_t i = 0; i < capture_nparams(c) && status == OK; i++) {
        State s = state_of(c, then, i);
        State now = {places[i].value ? out[places[i].value - 1] : s.value,
                     places[i].grad ? out[places[i].grad - 1] : s.grad};
        status = put(capture_param(c, i), now);
        tensor_unref(s.value);
        tensor_unref(s.grad);
    }
    return status;
}

/* ---- the branch */

typedef struct Taken {
    RegionId region;
    Tensor **values; /* n results */
    States after;
} Taken;

static Status take(Capture *c, Branch b, const States *before, Taken *t) {
    t->region = capture_region(c, 0);
    capture_enter(c, t->region);
    Status status = b.run(b.ctx, t->values);
    capture_leave(c);
    t->after = states_now(c);
    Status undone = put_back(c, before);
    return status == OK ? undone : status;
}

/* The results of both sides, then what either changed. */
static Status pair_all(Capture *c, int n, const Taken *then, const Taken *other, Pairs *pairs,
                       Place *places) {
    for (int i = 0; i < n; i++)
        pair_up(pairs, tensor_ref(then->values[i]), tensor_ref(other->values[i]));
    Status status = OK;
    for (uint32_t i = 0; i < capture_nparams(c) && status == OK; i++) {
        State a = state_of(c, &then->after, i), b = state_of(c, &other->after, i);
        status = pair_states(pairs, a, b, &places[i]);
        tensor_unref(a.value);
        tensor_unref(a.grad);
        tensor_unref(b.value);
        tensor_unref(b.grad);
    }
    return status;
}

static Status join(Capture *c, Tensor *condition, const Taken *sides, int n, Tensor **out) {
    Pairs pairs = {0};
    Place *places = checked(calloc((size_t)capture_nparams(c) + 1, sizeof *places));
    Status status = pair_all(c, n, &sides[0], &sides[1], &pairs, places);
    Tensor **all = checked(calloc((size_t)pairs.n + 1, sizeof *all));
    Side a = {sides[0].region, pairs.then}, b = {sides[1].region, pairs.other};
    if (status == OK) status = capture_if(c, condition, a, b, pairs.n, all);
    if (status == OK) status = put_joined(c, &sides[0].after, places, all);
    for (int i = 0; i < n && status == OK; i++) out[i] = tensor_ref(all[i]);
    for (int i = 0; i < pairs.n; i++) {
        tensor_unref(all[i]);
        tensor_unref(pairs.then[i]);
        tensor_unref(pairs.other[i]);
    }
    free(all);
    free(pairs.then);
    free(pairs.other);
    free(places);
    return status;
}

Status capture_branches(Capture *c, Tensor *condition, Branch then, Branch other, int n,
                        Tensor **out) {
    Tensor **values = checked(calloc(2 * (size_t)n + 1, sizeof *values));
    Taken sides[2] = {{.values = values}, {.values = values + n}};
    States before = states_now(c);
    Status status = take(c, then, &before, &sides[0]);
    if (status == OK) status = take(c, other, &before, &sides[1]);
    if (status == OK) status = join(c, condition, sides, n, out);
    for (int i = 0; i < 2 * n; i++) tensor_unref(values[i]);
    free(values);
    states_free(&before);
    states_free(&sides[0].after);
    states_free(&sides[1].after);
    return status;
}
