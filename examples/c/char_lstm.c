/* Trains an LSTM to continue the King James text character by character, in either mode, through
 * the public headers alone.
 *
 *     char_lstm [eager|graph] [FILE] [EPOCHS] [STEPS]
 *
 * FILE is any text. Without it, or with -, the program `bible` writes one (Debian's packages
 * bible-kjv and bible-kjv-text). The text is cut into BATCH strips that are read side by side,
 * LENGTH characters a step; the state goes on from step to step. Both modes print the same losses;
 * after 600 steps they are about 1.5 nats a character. */
#define _POSIX_C_SOURCE 200809L /* popen */
#include "example.h"

enum { BATCH = 32, LENGTH = 64, EMBED = 64, HIDDEN = 256, NPARAMS = 7, SAMPLE = 300 };

/* ---- the text */

typedef struct Text {
    char letters[256]; /* the characters that occur; their places are the tokens */
    int nletters;
    int64_t length;     /* of each strip */
    dip_Tensor *strips; /* u8 (length, BATCH) */
} Text;

static unsigned char *read_text(const char *path, size_t *size) {
    if (path && strcmp(path, "-") == 0) path = NULL;
    FILE *f = path ? fopen(path, "rb") : popen("bible -f 'gen1:1-rev22:21' 2>/dev/null", "r");
    size_t room = 8 << 20;
    unsigned char *text = malloc(room);
    *size = f && text ? fread(text, 1, room, f) : 0;
    if (f) path ? fclose(f) : pclose(f);
    if (*size >= (size_t)BATCH * (LENGTH + 1)) return text;
    fprintf(stderr, "%s: no text of at least %d characters%s\n", path ? path : "bible",
            BATCH * (LENGTH + 1), path ? "" : "; install bible-kjv and bible-kjv-text");
    exit(3);
}

static Text new_text(const char *path) {
    Text t = {.nletters = 0};
    size_t size;
    unsigned char *bytes = read_text(path, &size), token[256] = {0};
    bool seen[256] = {false};
    for (size_t i = 0; i < size; i++) seen[bytes[i]] = true;
    for (int c = 0; c < 256; c++) {
        if (!seen[c]) continue;
        token[c] = (unsigned char)t.nletters;
        t.letters[t.nletters++] = (char)c;
    }
    t.length = (int64_t)size / BATCH;
    unsigned char *strips = malloc(size);
    if (!strips) exit(1);
    for (int64_t i = 0; i < t.length; i++)
        for (int64_t k = 0; k < BATCH; k++) strips[i * BATCH + k] = token[bytes[k * t.length + i]];
    must(dip_tensor(DIP_U8, 2, (int64_t[]){t.length, BATCH}, strips, &t.strips));
    free(strips);
    free(bytes);
    return t;
}

/* Rows first .. first + LENGTH - 1 as i32. */
static dip_Tensor *window(const Text *t, int64_t first) {
    dip_Tensor *bytes, *tokens;
    must(dip_narrow(t->strips, 0, first, LENGTH, &bytes));
    must(dip_cast(bytes, DIP_I32, &tokens));
    dip_unref(bytes);
    return tokens;
}

/* ---- the network: embedding, LSTM (gates in the order i, f, g, o), dense layer */

typedef struct Net {
    dip_Param *p[NPARAMS]; /* table, w_ih, w_hh, b_ih, b_hh, weight, bias */
    dip_Optimizer *optimizer;
} Net;

static Net new_net(int nletters) {
    const double bound = 1 / sqrt(HIDDEN);
    Net net = {.p = {new_param("embedding.table", DIP_INTS(nletters, EMBED), 1),
                     new_param("lstm.weight_ih", DIP_INTS(4 * HIDDEN, EMBED), bound),
                     new_param("lstm.weight_hh", DIP_INTS(4 * HIDDEN, HIDDEN), bound),
                     new_param("lstm.bias_ih", DIP_INTS(4 * HIDDEN), bound),
                     new_param("lstm.bias_hh", DIP_INTS(4 * HIDDEN), bound),
                     new_param("dense.weight", DIP_INTS(nletters, HIDDEN), bound),
                     new_param("dense.bias", DIP_INTS(nletters), bound)}};
    must(dip_optimizer("adam", "lr=0.002", NPARAMS, net.p, &net.optimizer));
    return net;
}

/* tokens (steps, n) and the state, h and c (n, HIDDEN), to logits (steps n, nletters) and the
 * next state. */
static dip_Tensor *forward(const Net *net, dip_Tensor *tokens, dip_Tensor *const state[2],
                           dip_Tensor *next[2]) {
    dip_Tensor *w[NPARAMS], *x, *layer[4], *flat, *logits;
    for (int i = 0; i < NPARAMS; i++) w[i] = dip_param_peek(net->p[i]);
    must(dip_embedding(tokens, w[0], DIP_NONE, &x));
    must(dip_rnn_layer(x, state[0], w[1], w[2], w[3], w[4], state[1], NULL, "lstm", false, layer));
    must(dip_reshape(layer[0], DIP_INTS(-1, HIDDEN), &flat));
    must(dip_dense(flat, w[5], w[6], &logits));
    must(dip_detach(layer[1], &next[0])); /* gradients end with the window */
    must(dip_detach(layer[2], &next[1]));
    drop(4, layer);
    drop(2, (dip_Tensor *[]){x, flat});
    return logits;
}

/* tokens, the tokens that follow, h, c -> loss, h, c; the weights have moved. */
static dip_Status step(void *ctx, int nin, dip_Tensor *const *in, int nout, dip_Tensor **out) {
    Net *net = ctx;
    (void)nin, (void)nout;
    dip_Tensor *logits = forward(net, in[0], in + 2, out + 1), *targets;
    must(dip_reshape(in[1], DIP_INTS(-1), &targets));
    must(dip_cross_entropy(logits, targets, NULL, -100, "mean", 0, out));
    must(dip_backward(out[0]));
    must(dip_optimizer_step(net->optimizer));
    drop(2, (dip_Tensor *[]){logits, targets});
    return DIP_OK;
}

static void new_state(int64_t n, dip_Tensor *state[2]) {
    for (int i = 0; i < 2; i++) must(dip_zeros(DIP_INTS(n, HIDDEN), DIP_F32, &state[i]));
}

/* ---- training and writing */

static void train_epoch(Trainer *trainer, const Args *args, const Text *text, int epoch) {
    int64_t steps = (text->length - 1) / LENGTH;
    if (steps > args->steps) steps = args->steps;
    double start = seconds(), sum = 0, value = 0;
    dip_Tensor *state[2];
    new_state(BATCH, state);
    for (int64_t i = 0; i < steps; i++) {
        dip_Tensor *in[] = {window(text, i * LENGTH), window(text, i * LENGTH + 1), state[0],
                            state[1]};
        dip_Tensor *out[3];
        train_step(trainer, 4, in, 3, out);
        must(dip_item(out[0], &value));
        sum += value;
        drop(4, in);
        dip_unref(out[0]);
        state[0] = out[1];
        state[1] = out[2];
        if ((i + 1) % 50 && i + 1 < steps) continue;
        printf("\repoch %d  step %4lld/%lld  loss %.4f  %.0f characters/s ", epoch,
               (long long)i + 1, (long long)steps, sum / (double)(i + 1),
               (double)((i + 1) * BATCH * LENGTH) / (seconds() - start));
        fflush(stdout);
    }
    printf("\nepoch %d  last loss %.9g\n", epoch, value);
    drop(2, state);
}

/* The place of the next character, drawn from what the net expects after `token`. */
static int next_token(const Net *net, int token, dip_Tensor *state[2]) {
    dip_Tensor *in, *logits, *chances, *drawn, *next[2];
    double value;
    must(dip_tensor(DIP_I32, 2, (int64_t[]){1, 1}, &token, &in));
    logits = forward(net, in, state, next);
    must(dip_softmax(logits, -1, &chances));
    must(dip_multinomial(chances, 1, true, &drawn));
    must(dip_item(drawn, &value));
    drop(4, (dip_Tensor *[]){in, logits, chances, drawn});
    for (int i = 0; i < 2; i++) replace(&state[i], next[i]);
    return (int)value;
}

static void write_sample(const Net *net, const Text *text) {
    dip_Tensor *state[2];
    int token = 0; /* the line break, in most texts */
    bool was = dip_record(false);
    new_state(1, state);
    for (int i = 0; i < SAMPLE; i++) {
        token = next_token(net, token, state);
        putchar(text->letters[token]);
    }
    putchar('\n');
    drop(2, state);
    dip_record(was);
}

int main(int argc, char **argv) {
    Args args = read_args(argc, argv, NULL, 2);
    dip_seed(1);
    Text text = new_text(args.path);
    Net net = new_net(text.nletters);
    printf("%lld characters, %d different\n", (long long)(text.length * BATCH), text.nletters);
    Trainer trainer = {.step = {step, &net}, .graph = args.graph};
    for (int epoch = 1; epoch <= args.epochs; epoch++) {
        train_epoch(&trainer, &args, &text, epoch);
        write_sample(&net, &text);
    }
    printf("peak memory %.0f MB\n", (double)dip_memory().peak / 1e6);
    dip_graph_free(trainer.compiled);
    dip_optimizer_free(net.optimizer);
    for (int i = 0; i < NPARAMS; i++) dip_param_unref(net.p[i]);
    dip_unref(text.strips);
    return 0;
}
