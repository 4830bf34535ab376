/* Looking for formulas in a graph: what the patterns of raise.c are made of.
 *
 * A pattern may only reach through values that it alone reads: otherwise they would be computed
 * beside the op that takes its place. */
#ifndef DIP_MATCH_H
#define DIP_MATCH_H

#include "passes/edit.h"

typedef struct Uses {
    uint32_t *of; /* how often a value is read */
    uint32_t n;
} Uses;

void uses_count(Uses *u, Graph *g);
void uses_done(Uses *u);
/* How often v is read; many times where it was made since they were counted. */
uint32_t uses_of(const Uses *u, Value v);

typedef struct Match {
    Edit *e;
    const Uses *uses;
    RegionId region; /* where the steps stand: what a loop finds done is not done again inside */
} Match;

/* The call that makes v as its only result; NULL: something else does, or it stands elsewhere. */
const Node *match_step(const Match *m, Value v);

/* The call of `op` that makes v, which is read `uses` times; NULL: v is something else. */
const Node *match_call(const Match *m, Value v, OpId op, uint32_t uses);
/* v is the constant x, as near as its dtype tells. */
bool match_number(const Match *m, Value v, double x);
/* One of the two inputs of a call is the constant x; *other is the other one. */
bool match_with_number(const Match *m, const Node *n, double x, Value *other);
/* The call is a reduction that keeps its axes, and they are the last ones; returns how many. */
int match_over_last(const Match *m, const Node *n);
/* v is its input with the last two axes exchanged. */
bool match_is_transposed(const Match *m, Value v, Value *input);

/* v as number * factors, through products, quotients by numbers, powers 2 and 3, squares and signs.
 */
enum { MOST_FACTORS = 6 };
typedef struct Product {
    double number;
    int n;
    Value of[MOST_FACTORS];
} Product;
bool match_product(const Match *m, Value v, Product *p); /* false: too long */
/* The number is x, as near as v's dtype tells. */
bool match_is_near(const Match *m, Value v, double number, double x);
/* The one factor beside `times` times x; 0: the product is not like that. */
Value match_other_factor(const Product *p, Value x, int times);

#endif
