/* The kernels of the fused training step: all of a step that is not a product of matrices, for fused.py.

   Like the engine's kernels.c, this file is compiled once for each kind of processor, with -DISA=<name>, and Python
   calls the functions <name>_<kernel>. Each gets a structure with its arguments and computes the rows (or
   sentences, or blocks of columns) from `first` to `last`. What it sums over rows goes to the memory of share
   number `part`, so that threads never write to the same place, and sums have a fixed order.

   Numbers. Activations and weights are bf16 (half = 1) or float32; all arithmetic is float32.
   Memory. Nothing is allocated here. Sentences follow each other without padding: starts[b] is the first row of
   sentence b, and starts[b + 1] the row after its last.
   Random numbers are a function of a seed and of the place in the matrix, so the backward pass draws the same again.

   Names: D width, V vocabulary, L queries and M keys of a sentence. */

#pragma clang fp contract(fast)

#include "../decoding/vectors.h"

/* Export a kernel, compiled for both types of numbers. */
#define KERNEL(kernel, Arguments)                                                                    \
    EXPORT void NAME(kernel)(const Arguments *a, int64_t first, int64_t last, int64_t part) {        \
        if (a->half) kernel(1, a, first, last, part);                                                \
        else kernel(0, a, first, last, part);                                                        \
    }
#define UNUSED(x) (void)(x)

/* BLOCK: values that share a vector of random bytes. QUERIES: how many of a sentence are computed at a time. */
enum { BLOCK = 64, QUERIES = 64 };
#if defined(__AVX512F__)
enum { WIDE = 4 }; /* vectors of a tile's columns: registers hold the sums of 4 rows */
#else
enum { WIDE = 1 };
#endif

INLINE i32v lanes(void) { return (i32v){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
/* Where lane number + from < n. */
INLINE i32v below(size_t n, size_t from) {
    return lanes() < (int32_t)(n < from ? 0 : n - from > LANES ? LANES : n - from);
}

INLINE size_t up(size_t n) { return (n + LANES - 1) / LANES * LANES; } /* to whole vectors */

/* ---- Numbers in memory: `n` of them from number i on (16, or fewer at the end of a row; the other lanes are 0) */

INLINE f32v get(const int half, const void *p, size_t i, size_t n) {
    if (n >= LANES) {
        if (!half) return load((const float *)p + i);
        return (f32v)(__builtin_convertvector(*(const u16v *)((const uint16_t *)p + i), u32v) << 16);
    }
    f32v x = {0};
    if (!half) memcpy(&x, (const float *)p + i, n * sizeof(float));
    else
        for (size_t k = 0; k < n; k++) {
            const uint32_t bits = (uint32_t)((const uint16_t *)p)[i + k] << 16;
            memcpy((char *)&x + 4 * k, &bits, 4);
        }
    return x;
}

INLINE void put(const int half, void *p, size_t i, size_t n, f32v x) {
    const u32v bits = (u32v)x;
    const u16v rounded = __builtin_convertvector((bits + 0x7fff + (bits >> 16 & 1)) >> 16, u16v); /* half to even */
    if (n > LANES) n = LANES;
    if (n == LANES && half) *(u16v *)((uint16_t *)p + i) = rounded;
    else if (n == LANES) store((float *)p + i, x);
    else if (half) memcpy((uint16_t *)p + i, &rounded, n * sizeof(uint16_t));
    else memcpy((float *)p + i, &x, n * sizeof(float));
}

/* Return x as it is read after it was stored. */
INLINE f32v stored(const int half, f32v x) {
    const u32v bits = (u32v)x;
    return half ? (f32v)((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000) : x;
}

INLINE const void *at(const int half, const void *p, size_t i) { return (const char *)p + i * (half ? 2 : 4); }

/* ---- Dropout: each value has a random byte, and is dropped if the byte is below `dropped` (of 256) */

typedef struct {
    uint64_t seed;
    int64_t dropped; /* 0: no dropout */
} Dropout;

typedef struct { uint64_t key; uint32_t dropped; float kept; } Drops; /* kept: the factor of values that stay */

INLINE Drops drops_of(const Dropout *d) { /* each seed has its key (splitmix64) */
    uint64_t x = d->seed;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (Drops){x ^ x >> 31, (uint32_t)d->dropped, 256.0f / (256 - d->dropped)};
}

/* Return the random bytes of 64 values, number `block` of a matrix. */
INLINE u32v random_bytes(const Drops *d, uint32_t block) {
    u32v x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    x += block * LANES + (uint32_t)d->key;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15 ^ (uint32_t)(d->key >> 32)) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Return the factors of 16 values, from number j of their row on; `bytes` are those of the row's 64 around j. */
INLINE f32v factors(const Drops *d, u32v bytes, size_t j) {
    return choose((i32v)((bytes >> (uint32_t)(j % BLOCK / LANES * 8) & 255) >= d->dropped), all(d->kept), all(0));
}

/* Let `f` be the factors of values j... of row r, which is `width` wide; `bytes` is a variable that outlives j. */
#define DRAW(f, bytes, d, r, j, width)                                                              \
    if ((d).dropped && (j) % BLOCK == 0)                                                            \
        bytes = random_bytes(&(d), (uint32_t)((r) * (((width) + BLOCK - 1) / BLOCK) + (j) / BLOCK)); \
    const f32v f = (d).dropped ? factors(&(d), bytes, j) : all(1)
#define EACH(j, n, width) size_t j = 0, n = (width); j < (size_t)(width); j += LANES, n -= LANES

/* ---- Embeddings: out = dropout(table[id] * scale + position) */

typedef struct {
    int64_t half, width, rows;
    const int64_t *ids, *places;
    const void *table, *positions;
    void *out;         /* the gradient of it, in the backward pass */
    float *d_table;
    Dropout dropout;
    float scale;
} Embedding;

INLINE void embed(const int half, const Embedding *a, size_t first, size_t last, size_t part) {
    UNUSED(part);
    const Drops d = drops_of(&a->dropout);
    const size_t D = a->width;
    u32v bytes = {0};
    for (size_t r = first; r < last; r++)
        for (EACH(j, n, D)) {
            DRAW(f, bytes, d, r, j, D);
            const f32v x = get(half, a->table, a->ids[r] * D + j, n) * a->scale;
            put(half, a->out, r * D + j, n, (x + get(half, a->positions, a->places[r] * D + j, n)) * f);
        }
}

/* Add the gradients to the rows of the table; `first` and `last` are blocks of 64 columns. */
INLINE void embed_backward(const int half, const Embedding *a, size_t first, size_t last, size_t part) {
    UNUSED(part);
    const Drops d = drops_of(&a->dropout);
    const size_t D = a->width;
    u32v bytes = {0};
    for (size_t r = 0; r < (size_t)a->rows; r++)
        for (size_t j = first * BLOCK; j < last * BLOCK && j < D; j += LANES) {
            DRAW(f, bytes, d, r, j, D);
            float *sums = a->d_table + a->ids[r] * D;
            put(0, sums, j, D - j, get(0, sums, j, D - j) + get(half, a->out, r * D + j, D - j) * f * a->scale);
        }
}

/* ---- Add & Norm: total = x + dropout(y); normed = LayerNorm(total). Without y, total is x. */

typedef struct {
    int64_t half, width;
    const void *x, *y, *gain, *bias;
    void *total, *normed;
    float *statistics; /* rows x 2: mean, 1 / standard deviation */
    const void *d_normed, *d_total; /* d_total may be NULL */
    void *d_x, *d_y;
    float *sums;       /* shares x 2D: the gradients of gain and bias */
    Dropout dropout;
    float epsilon;
} AddNorm;

INLINE void add_norm(const int half, const AddNorm *a, size_t first, size_t last, size_t part) {
    UNUSED(part);
    const Drops d = drops_of(&a->dropout);
    const size_t D = a->width;
    const void *total = a->y ? a->total : a->x;
    u32v bytes = {0};
    for (size_t r = first; r < last; r++) {
        f32v mean = {0}, variance = {0};
        for (EACH(j, n, D)) {
            f32v x = get(half, a->x, r * D + j, n);
            if (a->y) {
                DRAW(f, bytes, d, r, j, D);
                x = stored(half, x + get(half, a->y, r * D + j, n) * f);
                put(half, a->total, r * D + j, n, x);
            }
            mean += x;
        }
        mean = all(sum(mean) / D);
        for (EACH(j, n, D)) {
            const f32v x = choose(below(n, 0), get(half, total, r * D + j, n) - mean, all(0));
            variance += x * x;
        }
        const float inverse = 1 / sqrtf(sum(variance) / D + a->epsilon);
        for (EACH(j, n, D)) {
            const f32v x = (get(half, total, r * D + j, n) - mean) * inverse;
            put(half, a->normed, r * D + j, n, x * get(half, a->gain, j, n) + get(half, a->bias, j, n));
        }
        a->statistics[2 * r] = mean[0], a->statistics[2 * r + 1] = inverse;
    }
}

INLINE void add_norm_backward(const int half, const AddNorm *a, size_t first, size_t last, size_t part) {
    const Drops d = drops_of(&a->dropout);
    const size_t D = a->width;
    float *d_gain = a->sums + 2 * D * part, *d_bias = d_gain + D;
    u32v bytes = {0};
    for (size_t r = first; r < last; r++) {
        const f32v mean = all(a->statistics[2 * r]), inverse = all(a->statistics[2 * r + 1]);
        f32v along = {0}, level = {0};
        for (EACH(j, n, D)) {
            const f32v x = (get(half, a->total, r * D + j, n) - mean) * inverse;
            const f32v dy = get(half, a->d_normed, r * D + j, n), dx = dy * get(half, a->gain, j, n);
            put(0, d_gain, j, n, get(0, d_gain, j, n) + dy * x);
            put(0, d_bias, j, n, get(0, d_bias, j, n) + dy);
            along += dx * x, level += dx;
        }
        const f32v slope = all(sum(along) / D), shift = all(sum(level) / D);
        for (EACH(j, n, D)) {
            const f32v x = (get(half, a->total, r * D + j, n) - mean) * inverse;
            f32v dx = get(half, a->d_normed, r * D + j, n) * get(half, a->gain, j, n);
            dx = (dx - shift - x * slope) * inverse;
            if (a->d_total) dx += get(half, a->d_total, r * D + j, n);
            put(half, a->d_x, r * D + j, n, dx);
            if (a->d_y) {
                DRAW(f, bytes, d, r, j, D);
                put(half, a->d_y, r * D + j, n, dx * f);
            }
        }
    }
}

/* ---- Sums of columns; ReLU with dropout, which changes `x` in place */

typedef struct {
    int64_t half, width;
    void *x;
    const void *kept; /* relu_backward: what relu has left */
    float *sums;      /* column_sums: shares x D */
    Dropout dropout;
} Columns;

INLINE void column_sums(const int half, const Columns *a, size_t first, size_t last, size_t part) {
    const size_t D = a->width;
    for (size_t r = first; r < last; r++)
        for (EACH(j, n, D)) {
            float *sums = a->sums + part * D;
            put(0, sums, j, n, get(0, sums, j, n) + get(half, a->x, r * D + j, n));
        }
}

INLINE void relu(const int half, const Columns *a, size_t first, size_t last, size_t part) {
    UNUSED(part);
    const Drops d = drops_of(&a->dropout);
    const size_t D = a->width;
    u32v bytes = {0};
    for (size_t r = first; r < last; r++)
        for (EACH(j, n, D)) {
            DRAW(f, bytes, d, r, j, D);
            const f32v x = get(half, a->x, r * D + j, n);
            put(half, a->x, r * D + j, n, choose(x < 0, all(0), x) * f); /* NaN stays */
        }
}

/* What is 0 after ReLU and dropout has no gradient; the rest has the factor of dropout. */
INLINE void relu_backward(const int half, const Columns *a, size_t first, size_t last, size_t part) {
    UNUSED(part);
    const Drops d = drops_of(&a->dropout);
    const size_t D = a->width;
    for (size_t r = first; r < last; r++)
        for (EACH(j, n, D)) {
            const f32v x = get(half, a->x, r * D + j, n) * d.kept;
            put(half, a->x, r * D + j, n, choose(get(half, a->kept, r * D + j, n) == 0, all(0), x));
        }
}

/* ---- Cross-entropy: logits become the gradient of the label-smoothed loss */

typedef struct {
    int64_t half, width, rows; /* width: V; rows: of each pass, if there are two */
    void *logits;
    const int64_t *expected;
    float *losses;             /* rows x 2: smoothed, plain */
    float *room;               /* shares x 2 V, V in whole vectors: a row's exponentials (of both passes) */
    float smoothing, consistency;
} CrossEntropy;

INLINE void cross_entropy(const int half, const CrossEntropy *a, size_t first, size_t last, size_t part) {
    const size_t V = a->width;
    float *room = a->room + part * 2 * up(V);
    const float spread = a->smoothing / V;
    for (size_t r = first; r < last; r++) {
        const size_t right = r * V + a->expected[r];
        f32v most = all(-INFINITY), level = {0}, total = {0};
        for (EACH(j, n, V)) {
            const f32v x = get(half, a->logits, r * V + j, n);
            most = larger(choose(below(n, 0), x, most), most);
            level += x;
        }
        const f32v top = all(highest(most));
        for (EACH(j, n, V)) {
            const f32v x = choose(below(n, 0), exponential(get(half, a->logits, r * V + j, n) - top), all(0));
            store(room + j, x);
            total += x;
        }
        const float size = sum(total), log_size = logf(size) + top[0];
        const float expected = get(half, a->logits, right, 1)[0];
        a->losses[2 * r] = log_size - (1 - a->smoothing) * expected - a->smoothing * (sum(level) / V);
        a->losses[2 * r + 1] = log_size - expected;
        const float p = expf(expected - log_size) - spread - (1 - a->smoothing);
        for (EACH(j, n, V)) put(half, a->logits, r * V + j, n, load(room + j) * (1 / size) - spread);
        put(half, a->logits, right, 1, all(p));
    }
}

/* Of two passes p and q: the mean of both, plus consistency / 4 (KL(p || q) + KL(q || p)). Pass q begins `rows` rows
   later. d KL(p || q) / d logits of p = p (log p - log q - KL(p || q)), and d KL(q || p) / ... = p - q. */
INLINE void consistent_cross_entropy(const int half, const CrossEntropy *a, size_t first, size_t last, size_t part) {
    const size_t V = a->width;
    float *room_p = a->room + part * 2 * up(V), *room_q = room_p + up(V);
    const float spread = a->smoothing / V, weight = a->consistency / 4;
    for (size_t r = first; r < last; r++) {
        const size_t p = r * V, q = (r + a->rows) * V, right = a->expected[r];
        f32v most_p = all(-INFINITY), most_q = most_p, level = {0}, total_p = {0}, total_q = {0}, pq = {0}, qp = {0};
        for (EACH(j, n, V)) {
            const f32v x = get(half, a->logits, p + j, n), y = get(half, a->logits, q + j, n);
            most_p = larger(choose(below(n, 0), x, most_p), most_p);
            most_q = larger(choose(below(n, 0), y, most_q), most_q);
            level += x + y;
        }
        const f32v top_p = all(highest(most_p)), top_q = all(highest(most_q));
        for (EACH(j, n, V)) {
            const f32v x = get(half, a->logits, p + j, n), y = get(half, a->logits, q + j, n);
            const f32v of_p = choose(below(n, 0), exponential(x - top_p), all(0));
            const f32v of_q = choose(below(n, 0), exponential(y - top_q), all(0));
            store(room_p + j, of_p);
            store(room_q + j, of_q);
            total_p += of_p, total_q += of_q, pq += of_p * (x - y), qp += of_q * (y - x);
        }
        const float size_p = sum(total_p), size_q = sum(total_q);
        const float log_p = logf(size_p) + top_p[0], log_q = logf(size_q) + top_q[0], shift = log_p - log_q;
        const float forth = sum(pq) / size_p - shift, back = sum(qp) / size_q + shift;
        const float x = get(half, a->logits, p + right, 1)[0], y = get(half, a->logits, q + right, 1)[0];
        const float said = x - log_p + y - log_q, mean = sum(level) / V - log_p - log_q;
        a->losses[2 * r] = weight * (forth + back) - ((1 - a->smoothing) * said + a->smoothing * mean) / 2;
        a->losses[2 * r + 1] = -said / 2;
        for (EACH(j, n, V)) {
            const f32v x = get(half, a->logits, p + j, n), y = get(half, a->logits, q + j, n);
            const f32v of_p = load(room_p + j) * (1 / size_p), of_q = load(room_q + j) * (1 / size_q);
            const f32v apart = x - y - shift, both = of_p - of_q;
            const f32v is_right = choose(lanes() + (int32_t)j == (int32_t)right, all((1 - a->smoothing) / 2), all(0));
            put(half, a->logits, p + j, n, (of_p - spread) / 2 + weight * (of_p * (apart - forth) + both) - is_right);
            put(half, a->logits, q + j, n, (of_q - spread) / 2 - weight * (of_q * (apart + back) + both) - is_right);
        }
    }
}

/* ---- AdamW (Loshchilov and Hutter 2019): gradients are bf16 or float32, all else float32; `first`, `last` count
   blocks of 64 numbers */

typedef struct {
    int64_t half, size;
    const void *const *gradients; /* of each process, to be added up */
    int64_t processes;
    double *squares;              /* shares: the sum of the gradient's squares */
    float *weight, *mean, *variance;
    uint16_t *working;            /* the bf16 copy of the weights, or NULL */
    float scale, decay, beta1, beta2, rate, root, epsilon; /* the gradient's factor; 1 - rate * weight decay; ...;
                                     rate / (1 - beta1^t); 1 / sqrt(1 - beta2^t); ... */
} Adam;

INLINE f32v gradient(const int half, const Adam *a, size_t j, size_t n) {
    f32v sum = get(half, a->gradients[0], j, n);
    for (int64_t k = 1; k < a->processes; k++) sum += get(half, a->gradients[k], j, n);
    return sum;
}

INLINE void squares(const int half, const Adam *a, size_t first, size_t last, size_t part) {
    for (size_t b = first; b < last; b++) {
        f32v total = {0};
        for (size_t j = b * BLOCK; j < (b + 1) * BLOCK && j < (size_t)a->size; j += LANES) {
            const f32v g = gradient(half, a, j, a->size - j);
            total += g * g;
        }
        a->squares[part] += sum(total);
    }
}

INLINE void adamw(const int half, const Adam *a, size_t first, size_t last, size_t part) {
    UNUSED(part);
    for (size_t j = first * BLOCK; j < last * BLOCK && j < (size_t)a->size; j += LANES) {
        const size_t n = a->size - j;
        const f32v g = gradient(half, a, j, n) * a->scale;
        const f32v mean = get(0, a->mean, j, n), m = mean + (g - mean) * (1 - a->beta1);
        const f32v v = get(0, a->variance, j, n) * a->beta2 + g * g * (1 - a->beta2);
        const f32v size = __builtin_elementwise_sqrt(v) * a->root + a->epsilon;
        const f32v weight = get(0, a->weight, j, n) * a->decay - m * a->rate / size;
        put(0, a->mean, j, n, m);
        put(0, a->variance, j, n, v);
        put(0, a->weight, j, n, weight);
        if (a->working) put(1, a->working, j, n, weight);
    }
}

/* ---- Attention on short rows: softmax(Q K^T * scale) V of each sentence and head, in the caches */

typedef struct {
    int64_t half, heads, head;           /* head: the width of one */
    const void *q, *k, *v;
    void *out;
    const int64_t *q_starts, *k_starts;
    float *log_sizes;                    /* queries x heads: log of the sum of a row's exponentials */
    const void *d_out;
    void *d_q, *d_k, *d_v;
    float *room;                         /* shares x roominess */
    int64_t roominess, q_stride, k_stride; /* strides: numbers from a row of q (of k and v) to the next */
    int64_t longest, causal;             /* longest: keys of a sentence */
    Dropout dropout;
    float scale;
} Attention;

typedef struct { float *q, *k, *v, *d_out, *d_q, *d_k, *d_v, *p, *d_p; size_t d, m; } Room; /* d, m: padded */

INLINE Room room_of(const Attention *a, size_t part) { /* fused.py knows how much this is */
    Room w = {.d = up(a->head), .m = up(a->longest)};
    float *next = a->room + part * a->roominess;
    float **some[] = {&w.q, &w.d_out, &w.d_q}, **many[] = {&w.k, &w.v, &w.d_k, &w.d_v}, **pairs[] = {&w.p, &w.d_p};
    for (int i = 0; i < 3; i++) *some[i] = next, next += QUERIES * w.d;
    for (int i = 0; i < 4; i++) *many[i] = next, next += w.m * w.d;
    for (int i = 0; i < 2; i++) *pairs[i] = next, next += QUERIES * w.m;
    return w;
}

/* Ask for part `h` of `parts` of rows from memory. A head's parts of the rows lie so far apart that the processor
   cannot guess them, and waiting for them took half of attention's time. */
INLINE void fetch(const int half, const void *p, size_t stride, int64_t first, int64_t last, size_t h, size_t parts) {
    const size_t size = (size_t)(last - first) * stride * (half ? 2 : 4), line = 64;
    const char *from = at(half, p, first * stride);
    for (size_t i = size * h / parts; i < size * (h + 1) / parts; i += line) __builtin_prefetch(from + i);
}

/* While head h of sentence b is computed, fetch a part of the next sentence. */
INLINE void fetch_next(const int half, const Attention *a, size_t b, size_t h) {
    const int64_t *q = a->q_starts + b + 1, *k = a->k_starts + b + 1;
    fetch(half, a->q, a->q_stride, q[0], q[1], h, a->heads);
    if (a->k_stride != a->q_stride) fetch(half, a->k, a->k_stride, k[0], k[1], h, a->heads);
    if (a->d_out) {
        fetch(half, a->d_out, a->heads * a->head, q[0], q[1], h, a->heads);
        fetch(half, a->d_q, a->q_stride, q[0], q[1], h, a->heads);
        if (a->k_stride != a->q_stride) fetch(half, a->d_k, a->k_stride, k[0], k[1], h, a->heads);
    } else fetch(half, a->out, a->heads * a->head, q[0], q[1], h, a->heads);
}

/* Copy rows of a head to floats; further rows up to a multiple of four become 0. */
INLINE void unpack(const int half, const void *from, size_t stride, size_t rows, size_t head, float *to, size_t d) {
    for (size_t r = 0; r < (rows + 3) / 4 * 4; r++)
        for (EACH(j, n, head)) store(to + r * d + j, r < rows ? get(half, from, r * stride + j, n) : all(0));
}

INLINE void pack(const int half, const float *from, size_t d, size_t rows, size_t head, void *to, size_t stride) {
    for (size_t r = 0; r < rows; r++)
        for (EACH(j, n, head)) put(half, to, r * stride + j, n, load(from + r * d + j));
}

/* out[i][m] = x[i] . y[m] for `rows` rows of d numbers; of y there are a multiple of four. */
INLINE void dots_of(const int rows, const float *x, const float *y, size_t keys, size_t d, float *out, size_t stride) {
    for (size_t m = 0; m < keys; m += 4) {
        f32v s[2][4];
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int k = 0; k < 4; k++) s[i][k] = all(0);
        for (size_t j = 0; j < d; j += LANES) {
            UNROLL for (int k = 0; k < 4; k++) {
                const f32v right = load(y + (m + k) * d + j);
                UNROLL for (int i = 0; i < rows; i++) s[i][k] += load(x + i * d + j) * right;
            }
        }
        UNROLL for (int i = 0; i < rows; i++)
            *(f32x4 *)(out + i * stride + m) = sums(s[i][0], s[i][1], s[i][2], s[i][3]);
    }
}

INLINE void dots(const float *x, size_t rows, const float *y, size_t keys, size_t d, float *out, size_t stride) {
    size_t i = 0;
    for (; i + 2 <= rows; i += 2) dots_of(2, x + i * d, y, keys, d, out + i * stride, stride);
    if (i < rows) dots_of(1, x + i * d, y, keys, d, out + i * stride, stride);
}

/* out += x y, for a tile of `rows` rows and `wide` vectors; x[i][k] is at i * row + k * inner. */
INLINE void tile(const int rows, const int wide, const float *x, size_t row, size_t inner, const float *y,
                 size_t count, size_t d, float *out) {
    f32v s[4][4];
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int w = 0; w < wide; w++) s[i][w] = load(out + i * d + w * LANES);
    for (size_t k = 0; k < count; k++)
        UNROLL for (int w = 0; w < wide; w++) {
            const f32v right = load(y + k * d + w * LANES);
            UNROLL for (int i = 0; i < rows; i++) s[i][w] += x[i * row + k * inner] * right;
        }
    UNROLL for (int i = 0; i < rows; i++)
        UNROLL for (int w = 0; w < wide; w++) store(out + i * d + w * LANES, s[i][w]);
}

/* out += x y: `rows` x `count` times `count` x d. */
static void multiply(const float *x, size_t rows, size_t row, size_t inner, const float *y, size_t count, size_t d,
                     float *out) {
#define TILES(wide)                                                                                           \
    for (size_t i = 0; i < rows; i += 4) switch (rows - i) {                                                  \
        case 1: tile(1, wide, x + i * row, row, inner, y + j, count, d, out + i * d + j); break;              \
        case 2: tile(2, wide, x + i * row, row, inner, y + j, count, d, out + i * d + j); break;              \
        case 3: tile(3, wide, x + i * row, row, inner, y + j, count, d, out + i * d + j); break;              \
        default: tile(4, wide, x + i * row, row, inner, y + j, count, d, out + i * d + j);                    \
    }
    for (size_t j = 0, wide; j < d; j += wide * LANES) {
        wide = WIDE == 4 && d - j >= 4 * LANES ? 4 : WIDE == 4 && d - j >= 2 * LANES ? 2 : 1;
        if (wide == 4) TILES(4)
        else if (wide == 2) TILES(2)
        else TILES(1)
    }
}

/* Let scores become softmax's weights, with 0 where a query may not look. Keep the log of the sum of exponentials. */
INLINE void weigh(const Attention *a, float *scores, size_t keys, size_t may_see, float *log_size) {
    f32v most = all(-INFINITY), total = {0};
    for (size_t m = 0; m < up(keys); m += LANES)
        most = larger(choose(below(may_see, m), load(scores + m) * a->scale, most), most);
    const f32v top = all(highest(most));
    for (size_t m = 0; m < up(keys); m += LANES) {
        const f32v x = choose(below(may_see, m), exponential(load(scores + m) * a->scale - top), all(0));
        store(scores + m, x);
        total += x;
    }
    const float size = sum(total);
    for (size_t m = 0; m < up(keys); m += LANES) store(scores + m, load(scores + m) * (1 / size));
    *log_size = top[0] + logf(size);
}

INLINE void attend(const int half, const Attention *a, size_t first, size_t last, size_t part) {
    const Drops d = drops_of(&a->dropout);
    const size_t H = a->heads, K = a->head;
    const Room w = room_of(a, part);
    u32v bytes = {0};
    for (size_t b = first; b < last; b++) {
        const size_t M = a->k_starts[b + 1] - a->k_starts[b], from = a->k_starts[b] * a->k_stride;
        for (size_t h = 0; h < H; h++) {
            if (b + 1 < last) fetch_next(half, a, b, h);
            unpack(half, at(half, a->k, from + h * K), a->k_stride, M, K, w.k, w.d);
            unpack(half, at(half, a->v, from + h * K), a->k_stride, M, K, w.v, w.d);
            const size_t L = a->q_starts[b + 1] - a->q_starts[b];
            for (size_t l = 0; l < L; l += QUERIES) {
                const size_t rows = L - l < QUERIES ? L - l : QUERIES, row = a->q_starts[b] + l;
                unpack(half, at(half, a->q, row * a->q_stride + h * K), a->q_stride, rows, K, w.q, w.d);
                dots(w.q, rows, w.k, M, w.d, w.p, w.m);
                for (size_t i = 0; i < rows && M; i++) {
                    const size_t number = (row + i) * H + h;
                    weigh(a, w.p + i * w.m, M, a->causal && l + i + 1 < M ? l + i + 1 : M, a->log_sizes + number);
                    for (size_t m = 0; d.dropped && m < M; m += LANES) {
                        DRAW(f, bytes, d, number, m, a->longest);
                        store(w.p + i * w.m + m, load(w.p + i * w.m + m) * f);
                    }
                }
                memset(w.d_q, 0, rows * w.d * sizeof(float)); /* here: of the output */
                multiply(w.p, rows, w.m, 1, w.v, M, w.d, w.d_q);
                pack(half, w.d_q, w.d, rows, K, (void *)at(half, a->out, (row * H + h) * K), H * K);
            }
        }
    }
}

/* From the scores in p and the weights' gradients in d_p: the dropped weights in p, the scores' gradients in d_p. */
INLINE void unweigh(const Attention *a, const Drops *d, float *p, float *d_p, size_t keys, size_t may_see,
                    size_t number) {
    const float log_size = a->log_sizes[number];
    f32v level = {0};
    u32v bytes = {0};
    for (size_t m = 0; m < keys; m += LANES) {
        DRAW(f, bytes, *d, number, m, a->longest);
        const i32v seen = below(may_see, m);
        const f32v x = choose(seen, exponential(load(p + m) * a->scale - log_size), all(0));
        const f32v dx = choose(seen, load(d_p + m), all(0)) * f;
        level += x * dx;
        store(p + m, x);
        store(d_p + m, dx);
    }
    const f32v slope = all(sum(level));
    for (size_t m = 0; m < keys; m += LANES) {
        DRAW(f, bytes, *d, number, m, a->longest);
        const f32v x = load(p + m);
        store(d_p + m, x * (load(d_p + m) - slope) * a->scale);
        store(p + m, x * f);
    }
}

INLINE void attend_backward(const int half, const Attention *a, size_t first, size_t last, size_t part) {
    const Drops d = drops_of(&a->dropout);
    const size_t H = a->heads, K = a->head;
    const Room w = room_of(a, part);
    for (size_t b = first; b < last; b++) {
        const size_t M = a->k_starts[b + 1] - a->k_starts[b], from = a->k_starts[b] * a->k_stride;
        for (size_t h = 0; h < H; h++) {
            if (b + 1 < last) fetch_next(half, a, b, h);
            unpack(half, at(half, a->k, from + h * K), a->k_stride, M, K, w.k, w.d);
            unpack(half, at(half, a->v, from + h * K), a->k_stride, M, K, w.v, w.d);
            memset(w.d_k, 0, M * w.d * sizeof(float));
            memset(w.d_v, 0, M * w.d * sizeof(float));
            const size_t L = a->q_starts[b + 1] - a->q_starts[b];
            for (size_t l = 0; l < L; l += QUERIES) {
                const size_t rows = L - l < QUERIES ? L - l : QUERIES, row = a->q_starts[b] + l;
                const size_t place = row * a->q_stride + h * K;
                unpack(half, at(half, a->q, place), a->q_stride, rows, K, w.q, w.d);
                unpack(half, at(half, a->d_out, (row * H + h) * K), H * K, rows, K, w.d_out, w.d);
                dots(w.q, rows, w.k, M, w.d, w.p, w.m);
                dots(w.d_out, rows, w.v, M, w.d, w.d_p, w.m);
                for (size_t i = 0; i < rows; i++)
                    unweigh(a, &d, w.p + i * w.m, w.d_p + i * w.m, M, a->causal && l + i + 1 < M ? l + i + 1 : M,
                            (row + i) * H + h);
                memset(w.d_q, 0, rows * w.d * sizeof(float));
                multiply(w.d_p, rows, w.m, 1, w.k, M, w.d, w.d_q);
                multiply(w.d_p, M, 1, w.m, w.q, rows, w.d, w.d_k);
                multiply(w.p, M, 1, w.m, w.d_out, rows, w.d, w.d_v);
                pack(half, w.d_q, w.d, rows, K, (void *)at(half, a->d_q, place), a->q_stride);
            }
            pack(half, w.d_k, w.d, M, K, (void *)at(half, a->d_k, from + h * K), a->k_stride);
            pack(half, w.d_v, w.d, M, K, (void *)at(half, a->d_v, from + h * K), a->k_stride);
        }
    }
}

KERNEL(embed, Embedding)
KERNEL(embed_backward, Embedding)
KERNEL(add_norm, AddNorm)
KERNEL(add_norm_backward, AddNorm)
KERNEL(column_sums, Columns)
KERNEL(relu, Columns)
KERNEL(relu_backward, Columns)
KERNEL(cross_entropy, CrossEntropy)
KERNEL(consistent_cross_entropy, CrossEntropy)
KERNEL(squares, Adam)
KERNEL(adamw, Adam)
KERNEL(attend, Attention)
KERNEL(attend_backward, Attention)
