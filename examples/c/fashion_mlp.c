/* Trains a perceptron 784-128-10 on Fashion-MNIST, through the public headers alone.
 *
 *     fashion_mlp [FOLDER] [EPOCHS]
 *
 * FOLDER holds the four IDX files, plain or gzip-compressed (/usr/share/datasets/fashion-mnist from
 * Debian's package dataset-fashion-mnist). Two epochs of Adam give about 86 % on the test set. */
#include <diptych.h>
#include <diptych_ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 32, PIXELS = 784, HIDDEN = 128, CLASSES = 10, NPARAMS = 4 };

/* A small program ends at the first failure. */
static void must(dip_Status status) {
    if (status == DIP_OK) return;
    fprintf(stderr, "%s: %s\n", dip_status_name(status), dip_error_message());
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- data: images u8 (n, 784), labels u8 (n) */

typedef struct Data {
    dip_Tensor *images, *labels;
} Data;

static dip_Tensor *read_file(const char *folder, const char *name) {
    char path[1024];
    dip_Tensor *t;
    snprintf(path, sizeof path, "%s/%s.gz", folder, name);
    FILE *packed = fopen(path, "rb");
    if (packed)
        fclose(packed);
    else
        snprintf(path, sizeof path, "%s/%s", folder, name);
    must(dip_read_idx(path, &t));
    return t;
}

static Data read_data(const char *folder, const char *part) {
    char name[64];
    Data d;
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    dip_Tensor *images = read_file(folder, name);
    must(dip_reshape(images, DIP_INTS(-1, PIXELS), &d.images));
    dip_unref(images);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    d.labels = read_file(folder, name);
    return d;
}

static void free_data(Data *d) {
    dip_unref(d->images);
    dip_unref(d->labels);
}

/* The images that `rows` names as f32 in [0, 1], and their labels as i32. */
static Data take(const Data *d, dip_Tensor *rows) {
    Data batch;
    dip_Tensor *bytes, *floats, *scale, *labels;
    must(dip_gather(d->images, rows, 0, 0, &bytes));
    must(dip_cast(bytes, DIP_F32, &floats));
    must(dip_number(DIP_F32, 1.0 / 255, &scale));
    must(dip_mul(floats, scale, &batch.images));
    must(dip_gather(d->labels, rows, 0, 0, &labels));
    must(dip_cast(labels, DIP_I32, &batch.labels));
    dip_Tensor *used[] = {bytes, floats, scale, labels};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) dip_unref(used[i]);
    return batch;
}

/* ---- the network */

typedef struct Net {
    dip_Param *params[NPARAMS]; /* weight (out, in) and bias (out) of both layers */
} Net;

/* Uniform in [-bound, bound). */
static dip_Param *new_param(const char *name, dip_Ints shape, double bound) {
    dip_uniform_args range = DIP_UNIFORM_ARGS;
    range.minval = -bound;
    range.maxval = bound;
    dip_Tensor *start;
    dip_Param *p;
    must(dip_uniform(shape, &range, &start));
    must(dip_param(name, start, &p));
    dip_unref(start);
    return p;
}

static Net new_net(void) {
    const double bound1 = 1 / 28.0, bound2 = 1 / 11.3137; /* 1 / sqrt(inputs of the layer) */
    Net net = {{new_param("fc1.weight", DIP_INTS(HIDDEN, PIXELS), bound1),
                new_param("fc1.bias", DIP_INTS(HIDDEN), bound1),
                new_param("fc2.weight", DIP_INTS(CLASSES, HIDDEN), bound2),
                new_param("fc2.bias", DIP_INTS(CLASSES), bound2)}};
    return net;
}

static dip_Tensor *forward(const Net *net, dip_Tensor *images) {
    dip_Tensor *w[NPARAMS], *sums, *hidden, *logits;
    for (int i = 0; i < NPARAMS; i++) w[i] = dip_param_peek(net->params[i]);
    must(dip_dense(images, w[0], w[1], &sums));
    must(dip_relu(sums, &hidden));
    must(dip_dense(hidden, w[2], w[3], &logits));
    dip_unref(sums);
    dip_unref(hidden);
    return logits;
}

/* ---- training and testing */

static double train_step(const Net *net, dip_Optimizer *optimizer, const Data *batch) {
    dip_Tensor *logits = forward(net, batch->images), *loss;
    double value;
    must(dip_cross_entropy(logits, batch->labels, NULL, -100, "mean", 0, &loss));
    must(dip_item(loss, &value));
    must(dip_backward(loss));
    must(dip_optimizer_step(optimizer));
    dip_unref(logits);
    dip_unref(loss);
    return value;
}

/* Rows first .. first + count - 1 of an order. */
static Data next_batch(const Data *d, dip_Tensor *order, int64_t first, int64_t count) {
    dip_Tensor *rows;
    must(dip_narrow(order, 0, first, count, &rows));
    Data batch = take(d, rows);
    dip_unref(rows);
    return batch;
}

static void train_epoch(const Net *net, dip_Optimizer *optimizer, const Data *d, int epoch) {
    int64_t n = dip_dim(d->images, 0), steps = n / BATCH;
    dip_Tensor *order;
    double start = seconds(), sum = 0;
    must(dip_randperm(n, DIP_I32, &order));
    for (int64_t step = 0; step < steps; step++) {
        Data batch = next_batch(d, order, step * BATCH, BATCH);
        sum += train_step(net, optimizer, &batch);
        free_data(&batch);
        if ((step + 1) % 375 && step + 1 < steps) continue;
        double rate = (double)((step + 1) * BATCH) / (seconds() - start);
        printf("\repoch %d  step %4lld/%lld  loss %.4f  %.0f images/s ", epoch, (long long)step + 1,
               (long long)steps, sum / (double)(step + 1), rate);
        fflush(stdout);
    }
    printf("\n");
    dip_unref(order);
}

static double test_accuracy(const Net *net, const Data *d) {
    int64_t n = dip_dim(d->images, 0), right = 0;
    bool was = dip_record(false);
    dip_Tensor *order;
    must(dip_arange((double)n, NULL, &order));
    for (int64_t first = 0; first < n; first += 1000) {
        Data batch = next_batch(d, order, first, n - first < 1000 ? n - first : 1000);
        dip_Tensor *logits = forward(net, batch.images), *best, *equal, *count;
        double hits;
        must(dip_argmax(logits, -1, false, &best));
        must(dip_equal(best, batch.labels, &equal));
        must(dip_sum(equal, DIP_INTS_NONE, false, -1, &count));
        must(dip_item(count, &hits));
        right += (int64_t)hits;
        dip_Tensor *used[] = {logits, best, equal, count};
        for (size_t i = 0; i < sizeof used / sizeof *used; i++) dip_unref(used[i]);
        free_data(&batch);
    }
    dip_unref(order);
    dip_record(was);
    return 100.0 * (double)right / (double)n;
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
    int epochs = argc > 2 ? atoi(argv[2]) : 2;
    printf("Diptych %s, %d threads\n", dip_version(), dip_threads());
    dip_seed(1);
    Data train = read_data(folder, "train"), test = read_data(folder, "t10k");
    Net net = new_net();
    dip_Optimizer *optimizer;
    must(dip_optimizer("adam", "lr=0.001", NPARAMS, net.params, &optimizer));
    for (int epoch = 1; epoch <= epochs; epoch++) {
        train_epoch(&net, optimizer, &train, epoch);
        printf("epoch %d  test accuracy %.2f %%\n", epoch, test_accuracy(&net, &test));
    }
    printf("peak memory %.0f MB\n", (double)dip_memory().peak / 1e6);
    dip_optimizer_free(optimizer);
    for (int i = 0; i < NPARAMS; i++) dip_param_unref(net.params[i]);
    free_data(&train);
    free_data(&test);
    return 0;
}
