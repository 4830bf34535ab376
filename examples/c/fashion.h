/* Fashion-MNIST for the example programs: reading, batches, an epoch of training, the accuracy.
 * The folder holds the four IDX files, plain or gzip-compressed, as Debian's package
 * dataset-fashion-mnist puts them into /usr/share/datasets/fashion-mnist. */
#ifndef FASHION_H
#define FASHION_H

#include "example.h"

enum { BATCH = 32, SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };
#define FASHION_FOLDER "/usr/share/datasets/fashion-mnist"

/* Images u8 (n, 28, 28) and labels u8 (n), or a batch of them as f32 and i32. */
typedef struct Data {
    dip_Tensor *images, *labels;
} Data;

static inline dip_Tensor *read_file(const char *folder, const char *name) {
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

static inline Data read_data(const char *folder, const char *part) {
    char name[64];
    Data d;
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    d.images = read_file(folder, name);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    d.labels = read_file(folder, name);
    return d;
}

static inline void free_data(Data *d) {
    dip_unref(d->images);
    dip_unref(d->labels);
}

/* The images that `rows` names, (rows, 1, 28, 28) as f32 in [0, 1], and their labels as i32. */
static inline Data take(const Data *d, dip_Tensor *rows) {
    Data batch;
    dip_Tensor *scale;
    must(dip_number(DIP_F32, 1.0 / 255, &scale));
    must(dip_gather(d->images, rows, 0, 0, &batch.images));
    dip_Tensor *next, **x = &batch.images, **y = &batch.labels;
    must(dip_cast(*x, DIP_F32, &next)), replace(x, next);
    must(dip_mul(*x, scale, &next)), replace(x, next);
    must(dip_reshape(*x, DIP_INTS(-1, 1, SIDE, SIDE), &next)), replace(x, next);
    must(dip_gather(d->labels, rows, 0, 0, y));
    must(dip_cast(*y, DIP_I32, &next)), replace(y, next);
    dip_unref(scale);
    return batch;
}

/* Rows first .. first + count - 1 of an order. */
static inline Data next_batch(const Data *d, dip_Tensor *order, int64_t first, int64_t count) {
    dip_Tensor *rows;
    must(dip_narrow(order, 0, first, count, &rows));
    Data batch = take(d, rows);
    dip_unref(rows);
    return batch;
}

/* One epoch in a random order. The step takes images and labels and gives the loss. */
static inline void train_epoch(Trainer *trainer, const Args *args, const Data *d, int epoch) {
    int64_t n = dip_dim(d->images, 0), steps = n / BATCH;
    if (steps > args->steps) steps = args->steps;
    dip_Tensor *order;
    double start = seconds(), sum = 0, value = 0;
    must(dip_randperm(n, DIP_I32, &order));
    for (int64_t step = 0; step < steps; step++) {
        Data batch = next_batch(d, order, step * BATCH, BATCH);
        dip_Tensor *in[] = {batch.images, batch.labels}, *loss;
        train_step(trainer, 2, in, 1, &loss);
        must(dip_item(loss, &value));
        sum += value;
        dip_unref(loss);
        free_data(&batch);
        if ((step + 1) % 375 && step + 1 < steps) continue;
        printf("\repoch %d  step %4lld/%lld  loss %.4f  %.0f images/s ", epoch, (long long)step + 1,
               (long long)steps, sum / (double)(step + 1),
               (double)((step + 1) * BATCH) / (seconds() - start));
        fflush(stdout);
    }
    printf("\nepoch %d  last loss %.9g\n", epoch, value);
    dip_unref(order);
}

/* How many of a batch forward(ctx, images), logits (n, 10), gets right. */
static inline double count_right(dip_Tensor *(*forward)(void *, dip_Tensor *), void *ctx,
                                 const Data *batch) {
    double right;
    dip_Tensor *t[4];
    t[0] = forward(ctx, batch->images);
    must(dip_argmax(t[0], -1, false, &t[1]));
    must(dip_equal(t[1], batch->labels, &t[2]));
    must(dip_sum(t[2], DIP_INTS_NONE, false, -1, &t[3]));
    must(dip_item(t[3], &right));
    drop(4, t);
    return right;
}

/* Per cent. */
static inline double test_accuracy(dip_Tensor *(*forward)(void *, dip_Tensor *), void *ctx,
                                   const Data *d) {
    int64_t n = dip_dim(d->images, 0);
    double right = 0;
    bool was = dip_record(false);
    dip_Tensor *order;
    must(dip_arange((double)n, NULL, &order));
    for (int64_t first = 0; first < n; first += 1000) {
        Data batch = next_batch(d, order, first, n - first < 1000 ? n - first : 1000);
        right += count_right(forward, ctx, &batch);
        free_data(&batch);
    }
    dip_unref(order);
    dip_record(was);
    return 100 * right / (double)n;
}

/* A network with its optimiser, as the two programs have it. */
typedef struct Classifier {
    int nparams;
    dip_Param **params;
    dip_Tensor *(*forward)(void *params, dip_Tensor *images); /* logits (n, 10) */
    dip_Optimizer *optimizer;
} Classifier;

/* images, labels -> loss; the weights have moved. */
static inline dip_Status classifier_step(void *ctx, int nin, dip_Tensor *const *in, int nout,
                                         dip_Tensor **out) {
    Classifier *c = ctx;
    (void)nin, (void)nout;
    dip_Tensor *logits = c->forward(c->params, in[0]);
    must(dip_cross_entropy(logits, in[1], NULL, -100, "mean", 0, out));
    must(dip_backward(*out));
    must(dip_optimizer_step(c->optimizer));
    dip_unref(logits);
    return DIP_OK;
}

/* Trains with Adam and says how well it went; the parameters are given back. */
static inline void train_classifier(Classifier *c, const Args *args) {
    Data train = read_data(args->path, "train"), test = read_data(args->path, "t10k");
    must(dip_optimizer("adam", "lr=0.001", c->nparams, c->params, &c->optimizer));
    Trainer trainer = {.step = {classifier_step, c}, .graph = args->graph};
    for (int epoch = 1; epoch <= args->epochs; epoch++) {
        train_epoch(&trainer, args, &train, epoch);
        printf("epoch %d  test accuracy %.2f %%\n", epoch,
               test_accuracy(c->forward, c->params, &test));
    }
    printf("peak memory %.0f MB\n", (double)dip_memory().peak / 1e6);
    dip_graph_free(trainer.compiled);
    dip_optimizer_free(c->optimizer);
    for (int i = 0; i < c->nparams; i++) dip_param_unref(c->params[i]);
    free_data(&train);
    free_data(&test);
}

#endif
