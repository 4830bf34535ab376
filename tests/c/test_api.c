/* The public calls that make, show and compute tensors, and those that belong to the process: what
 * they give, and what they say to bad arguments. */
#include "test.h"

#include "diptych_ops.h"

static dip_Tensor *made(dip_DType dtype, int rank, const int64_t *dims, const void *data) {
    dip_Tensor *t = NULL;
    CHECK_OK(dip_tensor(dtype, rank, dims, data, &t));
    return t;
}

static dip_Tensor *floats(int64_t n, const float *v) { return made(DIP_F32, 1, &n, v); }

static double item(dip_Tensor *t) {
    double v = NAN;
    CHECK_OK(dip_item(t, &v));
    return v;
}

/* ---- tensors */

static void test_version(void) {
    const char *v = dip_version();
    CHECK(!strncmp(v, "0.1.0 ", 6));
    CHECK(strstr(v, "base") || strstr(v, "avx2") || strstr(v, "avx512"));
}

static void test_tensor(void) {
    float data[6] = {1, 2, 3, 4, 5, 6}, back[6];
    dip_Tensor *t = made(DIP_F32, 2, (int64_t[]){2, 3}, data);
    CHECK(dip_dtype(t) == DIP_F32 && dip_rank(t) == 2 && dip_count(t) == 6 && dip_nbytes(t) == 24);
    CHECK(dip_dim(t, 0) == 2 && dip_dim(t, -1) == 3 && dip_dim(t, 2) == -1 && dip_dim(t, -3) == -1);
    data[0] = 9; /* a copy was made */
    CHECK_OK(dip_copy_out(t, back, sizeof back));
    CHECK(back[0] == 1 && back[5] == 6);
    CHECK(!memcmp(dip_data_peek(t), back, sizeof back));
    char text[40];
    CHECK(!strcmp(dip_type_text(t, text, sizeof text), "float32[2, 3]"));
    CHECK(!strcmp(dip_type_text(t, text, 6), "float"));
    CHECK(!*dip_type_text(NULL, text, sizeof text));
    CHECK(dip_ref(t) == t && !dip_ref(NULL));
    dip_unref(t);
    dip_unref(t);
    dip_unref(NULL);
}

static void test_zeros_and_empty(void) {
    dip_Tensor *t = made(DIP_I64, 1, (int64_t[]){3}, NULL);
    int64_t v[3] = {1, 1, 1};
    CHECK_OK(dip_copy_out(t, v, sizeof v));
    CHECK(v[0] == 0 && v[2] == 0);
    dip_unref(t);
    t = made(DIP_F64, 2, (int64_t[]){0, 4}, NULL);
    CHECK(dip_count(t) == 0 && dip_nbytes(t) == 0);
    CHECK_OK(dip_copy_out(t, v, 0));
    dip_unref(t);
    t = made(DIP_F64, 0, NULL, &(double){2.5});
    CHECK(dip_count(t) == 1 && dip_rank(t) == 0);
    CHECK_NEAR(item(t), 2.5, 0);
    dip_unref(t);
}

static void test_tensor_refusals(void) {
    dip_Tensor *t = NULL;
    int64_t dims[1] = {-2}, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
    CHECK_FAILS(dip_tensor(DIP_F32, 1, dims, NULL, &t), VALUE, "-2");
    CHECK_FAILS(dip_tensor(DIP_F32, 2, huge, NULL, &t), VALUE, "tensor");
    CHECK_FAILS(dip_tensor(DIP_F32, 1, NULL, NULL, &t), VALUE, "rank is 1");
    CHECK_FAILS(dip_tensor(DIP_F32, 9, dims, NULL, &t), VALUE, "rank is 9");
    CHECK_FAILS(dip_tensor(DIP_F32, -1, dims, NULL, &t), VALUE, "rank is -1");
    CHECK_FAILS(dip_tensor((dip_DType)77, 0, NULL, NULL, &t), TYPE, "dtype 77");
    CHECK_FAILS(dip_tensor(DIP_F32, 0, NULL, NULL, NULL), VALUE, "out is NULL");
    CHECK(!t);
    t = floats(2, (float[]){1, 2});
    float room[2];
    double v;
    CHECK_FAILS(dip_copy_out(t, room, 7), VALUE, "7 bytes");
    CHECK_FAILS(dip_copy_out(t, NULL, 8), VALUE, "dst is NULL");
    CHECK_FAILS(dip_copy_out(NULL, room, 8), VALUE, "t is NULL");
    CHECK_FAILS(dip_item(t, &v), VALUE, "2 elements");
    CHECK_FAILS(dip_item(NULL, &v), VALUE, "t is NULL");
    CHECK_FAILS(dip_item(t, NULL), VALUE, "out is NULL");
    CHECK(*dip_error_trace() && !strcmp(dip_status_name(DIP_E_VALUE), "VALUE"));
    dip_unref(t);
}

static void count_release(void *ctx) { ++*(int *)ctx; }

static void test_wrap(void) {
    int released = 0;
    float data[4] = {1, 2, 3, 4};
    dip_Tensor *t = NULL, *view = NULL;
    CHECK_OK(dip_wrap(DIP_F32, 2, (int64_t[]){2, 2}, data, count_release, &released, &t));
    CHECK(dip_data_peek(t) == data);
    CHECK_OK(dip_transpose(t, DIP_INTS_NONE, &view));
    CHECK(!dip_data_peek(view)); /* not dense */
    dip_unref(t);
    CHECK(released == 0);
    float back[4];
    CHECK_OK(dip_copy_out(view, back, sizeof back));
    CHECK(back[1] == 3 && back[2] == 2);
    dip_unref(view);
    CHECK(released == 1);
    CHECK_OK(dip_wrap(DIP_F32, 1, (int64_t[]){4}, data, NULL, NULL, &t));
    dip_unref(t);
    CHECK_FAILS(dip_wrap(DIP_F32, 1, (int64_t[]){1}, (char *)data + 1, NULL, NULL, &t), VALUE,
                "aligned");
    CHECK_FAILS(dip_wrap(DIP_F32, 1, (int64_t[]){1}, NULL, NULL, NULL, &t), VALUE, "data is NULL");
    CHECK_FAILS(dip_wrap(DIP_F32, 1, (int64_t[]){1}, data, NULL, NULL, NULL), VALUE, "out is NULL");
}

/* An optimiser that starts from lent memory copies before its first write. */
static void test_wrap_is_never_written(void) {
    float data[3] = {1, 2, 3};
    dip_Tensor *t = NULL, *g = floats(3, (float[]){1, 1, 1});
    dip_Param *p = NULL;
    dip_Optimizer *o = NULL;
    CHECK_OK(dip_wrap(DIP_F32, 1, (int64_t[]){3}, data, NULL, NULL, &t));
    CHECK_OK(dip_param("w", t, &p));
    dip_unref(t);
    CHECK_OK(dip_optimizer("sgd", "lr=0.5", 1, &p, &o));
    CHECK_OK(dip_optimizer_apply(o, &g));
    CHECK(data[0] == 1 && ((const float *)dip_data_peek(dip_param_peek(p)))[0] == 0.5f);
    dip_optimizer_free(o);
    dip_param_unref(p);
    dip_unref(g);
}

static void test_dtypes(void) {
    CHECK(!strcmp(dip_dtype_name(DIP_BF16), "bfloat16") &&
          !strcmp(dip_dtype_name((dip_DType)99), "unknown"));
    CHECK(dip_dtype_size(DIP_F64) == 8 && dip_dtype_size(DIP_BOOL) == 1 &&
          dip_dtype_size((dip_DType)-1) == 0);
    CHECK(dip_dtype_promote(DIP_F16, DIP_BF16) == DIP_F32);
    CHECK(dip_dtype_promote(DIP_I64, DIP_F16) == DIP_F16);
    dip_Tensor *t = NULL;
    for (int d = 0; d <= DIP_F64; d++) {
        CHECK_OK(dip_number((dip_DType)d, 1, &t));
        CHECK(dip_dtype(t) == (dip_DType)d);
        CHECK_NEAR(item(t), 1, 0);
        dip_unref(t);
    }
    CHECK(dip_dtype_size(DIP_C128) == 16 && dip_dtype_promote(DIP_F64, DIP_C64) == DIP_C128);
    CHECK_FAILS(dip_number(DIP_C64, 1, &t), TYPE, "complex64");
    CHECK_OK(dip_tensor(DIP_C64, 0, NULL, (float[]){3, 4}, &t));
    double v;
    CHECK_FAILS(dip_item(t, &v), TYPE, "complex64");
    dip_Tensor *size = NULL;
    CHECK_OK(dip_call("abs", 1, &t, NULL, 1, &size));
    CHECK_NEAR(item(size), 5, 0);
    dip_unref(size);
    dip_unref(t);
    CHECK_FAILS(dip_number((dip_DType)15, 1, &t), TYPE, "dtype 15");
    CHECK_FAILS(dip_number(DIP_F32, 1, NULL), VALUE, "out is NULL");
}

/* ---- calls */

static void test_call(void) {
    dip_Tensor *in[2] = {floats(3, (float[]){1, 2, 3}), floats(1, (float[]){10})}, *out = NULL;
    CHECK_OK(dip_call("add", 2, in, NULL, 1, &out));
    CHECK(((const float *)dip_data_peek(out))[2] == 13);
    dip_unref(out);
    CHECK_OK(dip_call("sum", 1, in, "axis=0 keep_dims=True", 1, &out));
    CHECK(dip_rank(out) == 1 && dip_dim(out, 0) == 1);
    dip_unref(out);
    CHECK_FAILS(dip_call("ad", 2, in, NULL, 1, &out), VALUE, "no op 'ad'");
    CHECK_FAILS(dip_call(NULL, 2, in, NULL, 1, &out), VALUE, "name is NULL");
    CHECK_FAILS(dip_call("relu_d0", 2, in, NULL, 1, &out), VALUE, "no op");
    CHECK_FAILS(dip_call("add", 2, NULL, NULL, 1, &out), VALUE, "must not be NULL");
    CHECK_FAILS(dip_call("add", 2, in, NULL, 1, NULL), VALUE, "must not be NULL");
    CHECK_FAILS(dip_call("add", -1, in, NULL, 1, &out), VALUE, "negative");
    CHECK_FAILS(dip_call("add", 1, in, NULL, 1, &out), TYPE, "got 1 inputs");
    CHECK_FAILS(dip_call("add", 2, in, NULL, 2, (dip_Tensor *[2]){0}), VALUE, "1 results");
    CHECK_FAILS(dip_call("add", 2, in, "axis=1", 1, &out), VALUE, "no attribute 'axis'");
    CHECK_FAILS(dip_call("sum", 1, in, "axis", 1, &out), VALUE, "name=value");
    CHECK_FAILS(dip_call("sum", 1, in, "keep_dims=7", 1, &out), VALUE, "True or False");
    CHECK_FAILS(dip_call("sum", 1, in, "axis=5", 1, &out), INDEX, "axis 5");
    CHECK_FAILS(dip_call("reshape", 1, in, NULL, 1, &out), VALUE, "'shape' must be given");
    dip_Tensor *holes[2] = {in[0], NULL};
    CHECK_FAILS(dip_call("add", 2, holes, NULL, 1, &out), TYPE, "input 1 is NULL");
    dip_unref(in[0]);
    dip_unref(in[1]);
}

/* Numbers left out take their default and never widen the tensor beside them. */
static void test_call_numbers(void) {
    dip_Tensor *x = floats(2, (float[]){-1, 2}), *half = NULL, *out = NULL;
    CHECK_OK(dip_call("leaky_relu", 1, &x, NULL, 1, &out));
    CHECK(dip_dtype(out) == DIP_F32);
    CHECK_NEAR(((const float *)dip_data_peek(out))[0], -0.2, 1e-7);
    dip_unref(out);
    CHECK_OK(dip_cast(x, DIP_F16, &half));
    CHECK_OK(dip_leaky_relu(half, 0.5, &out));
    CHECK(dip_dtype(out) == DIP_F16);
    dip_unref(out);
    dip_unref(half);
    dip_unref(x);
}

static void test_typed_ops(void) {
    dip_Tensor *x = NULL, *y = NULL, *both[2], *parts[2];
    dip_arange_args range = DIP_ARANGE_ARGS;
    range.dtype = DIP_F32;
    CHECK_OK(dip_arange(6, &range, &x));
    CHECK_OK(dip_reshape(x, DIP_INTS(2, -1), &y));
    CHECK(dip_dim(y, 1) == 3);
    both[0] = both[1] = y;
    dip_Tensor *wide = NULL;
    CHECK_OK(dip_concat(2, both, 0, &wide));
    CHECK(dip_dim(wide, 0) == 4);
    CHECK_OK(dip_chunk(wide, 2, 0, 2, parts));
    CHECK(dip_dim(parts[1], 0) == 2);
    CHECK_FAILS(dip_chunk(wide, 2, 0, 3, (dip_Tensor *[3]){0}), VALUE, "2 results");
    CHECK_FAILS(dip_concat(-1, both, 0, &wide), VALUE, "-1");
    CHECK_FAILS(dip_concat(2, NULL, 0, &wide), VALUE, "NULL");
    CHECK_FAILS(dip_relu(NULL, &wide), TYPE, "input 0 is NULL");
    CHECK_FAILS(dip_relu(x, NULL), VALUE, "out is NULL");
    CHECK_FAILS(dip_reshape(x, (dip_Ints){99, {0}}, &wide), VALUE, "99 entries");
    dip_one_hot_args args = DIP_ONE_HOT_ARGS;
    args.on_value = 5;
    dip_Tensor *index = made(DIP_I32, 1, (int64_t[]){1}, &(int32_t){1}), *hot = NULL;
    CHECK_OK(dip_one_hot(index, 3, &args, &hot));
    CHECK(dip_dim(hot, -1) == 3);
    dip_Tensor *all[] = {x, y, wide, parts[0], parts[1], index, hot};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) dip_unref(all[i]);
}

static void test_op_table(void) {
    int64_t n = dip_op_count();
    CHECK(n > 100);
    dip_OpInfo info = {0};
    dip_AttrInfo attr;
    bool sum = false;
    for (int64_t i = 0; i < n; i++) {
        dip_OpInfo next;
        if (!CHECK_OK(dip_op_info(i, &next))) return;
        CHECK(next.doc && *next.doc && (!info.name || strcmp(info.name, next.name) < 0));
        info = next;
        for (int k = 0; k < info.nattrs; k++) {
            CHECK_OK(dip_op_attr(i, k, &attr));
            sum = sum || (!strcmp(info.name, "sum") && !strcmp(attr.name, "keep_dims") &&
                          !strcmp(attr.kind, "bool") && !strcmp(attr.preset, "False"));
        }
    }
    CHECK(sum);
    CHECK_FAILS(dip_op_info(n, &info), INDEX, "no op");
    CHECK_FAILS(dip_op_info(-1, &info), INDEX, "no op -1");
    CHECK_FAILS(dip_op_info(0, NULL), VALUE, "out is NULL");
    CHECK_FAILS(dip_op_attr(0, 99, &attr), INDEX, "99");
}

/* ---- the process */

static void test_random_state(void) {
    dip_seed(5);
    dip_RandomState start = dip_random_state();
    dip_seed(6);
    CHECK(dip_random_state().key != start.key);
    dip_random_restore(start);
    CHECK(dip_random_state().key == start.key && dip_random_state().counter == start.counter);
}

static void test_memory(void) {
    dip_Memory before = dip_memory();
    dip_Tensor *t = made(DIP_F32, 1, (int64_t[]){1 << 20}, NULL), *more = NULL;
    dip_Memory with = dip_memory();
    CHECK(with.allocated >= before.allocated + (4 << 20) && with.reserved >= with.allocated);
    CHECK(with.peak >= with.allocated && with.limit == 0);
    CHECK_OK(dip_memory_limit(with.allocated + 100));
    CHECK_FAILS(dip_tensor(DIP_F32, 1, (int64_t[]){1 << 20}, NULL, &more), NOMEM, "4194304 bytes");
    CHECK(dip_memory().limit == with.allocated + 100);
    CHECK_OK(dip_memory_limit(0));
    CHECK_OK(dip_tensor(DIP_F32, 1, (int64_t[]){1 << 20}, NULL, &more));
    dip_unref(more);
    dip_unref(t);
    CHECK(dip_memory().allocated == before.allocated);
    dip_memory_reset_peak();
    CHECK(dip_memory().peak == before.allocated);
    dip_memory_trim();
    CHECK(dip_memory().reserved <= with.reserved);
    CHECK_FAILS(dip_memory_limit(-1), VALUE, "-1");
}

static void test_threads(void) {
    int usual = dip_threads();
    CHECK(usual >= 1);
    CHECK_OK(dip_set_threads(3));
    CHECK(dip_threads() == 3);
    CHECK_OK(dip_set_threads(0));
    CHECK(dip_threads() >= usual); /* OMP_NUM_THREADS may ask for fewer than there are */
    CHECK_FAILS(dip_set_threads(-1), VALUE, "-1");
    CHECK_FAILS(dip_set_threads(5000), VALUE, "5000");
}

int main(void) {
    RUN(test_version);
    RUN(test_tensor);
    RUN(test_zeros_and_empty);
    RUN(test_tensor_refusals);
    RUN(test_wrap);
    RUN(test_wrap_is_never_written);
    RUN(test_dtypes);
    RUN(test_call);
    RUN(test_call_numbers);
    RUN(test_typed_ops);
    RUN(test_op_table);
    RUN(test_random_state);
    RUN(test_memory);
    RUN(test_threads);
    return test_done("api");
}
