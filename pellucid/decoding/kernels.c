/* The engine's kernels: they compute the encoder and steps of the decoder, with weights from packing.py.

   This file is compiled once for each kind of processor, with -DISA=<name>. Python calls the functions
   <name>_begin, <name>_help and <name>_pack, and asks processor() which of these files can run here.

   Numbers. Weights and activations are int8 (kind INT8) or floats (FP32; BF16 stores the weights in 16 bits).
   In int8 a matrix has one scale per output, and an activation one scale per row; sums of products are exact
   integers. All other arithmetic is float32: a product is rounded before it is added (but see multiply_add), and
   a sum has a fixed order: sixteen lanes, then a tree. So a row's result is the same, bit for bit, whatever other
   rows are in the batch; in int8 also on every processor. tests/reference_engine.py does the same in PyTorch.

   Memory. Nothing is allocated here. Widths are padded with zeros to multiples of 64 (BLOCK), a head's width
   to a multiple of 16 (LANES). A panel holds the weights of 64 outputs: int8 [K/4][64][4], floats [K][64].
   Sentences follow each other without padding. Weights are stored in the order in which a step reads them.

   Names: D width, A padded width of all heads together, K inputs, N outputs, M rows. */

#define _POSIX_C_SOURCE 199309L /* nanosleep */
#include <time.h>
#include "vectors.h"

enum { INT8, FP32, BF16 };  enum { RELU, GELU, SILU };
/* CHUNK: logits of a row that are computed at a time. AHEAD: keys of the next row that are prefetched. */
enum { BLOCK = 64, CHUNK = 1024, AHEAD = 8 };

typedef _Float16 f16v __attribute__((vector_size(32), aligned(2)));
typedef int8_t i8v __attribute__((vector_size(16), aligned(1)));

typedef struct {  /* y = x W^T + b, in panels */
    const void *weight;
    const float *scale;    /* N, int8 only */
    const float *bias;     /* N */
    const int32_t *shift;  /* N, int8 only: -128 times the sum of an output's weights */
    int32_t outputs, inputs;
} Linear;

typedef struct { const float *gain, *bias; } Norm;

typedef struct {  /* a layer of the decoder, or of the encoder (without cross-attention, with two norms) */
    Linear qkv, self_output, cross_query, cross_output, inner, outer, cross_kv;
    Norm norm[3];
} Layer;

typedef struct {
    int32_t kind, width, padded, heads, head, across, hidden, norm_first, activation;
    int32_t encoder_layers, decoder_layers, vocabulary;
    float scale, score_scale; /* the factors of embeddings, and of attention scores: 1 / sqrt(d_k) */
    const float *source_embedding, *target_embedding, *positions;
    const uint8_t *forbidden; /* for each id: 1 if it is never a candidate */
    const Layer *encoder, *decoder;
    Norm encoder_norm, decoder_norm;
    Linear logits;
} Model;

typedef struct {  /* threads that compute together, and the job they share */
    int32_t size, job, jobs;  /* number of threads; the current job; how many jobs have begun so far */
    int32_t arrived, meeting; /* how many threads wait at the current meeting; how many meetings are over */
    int32_t rests;            /* how often threads rested within jobs, because others were late */
    int32_t sentences;        /* how many sentences to encode, with the following ids, starts and places */
    const int32_t *ids, *starts, *places;
} Team;

typedef struct {  /* buffers for M rows; each thread has its own `scores` (for 4 rows) and its own `keys` */
    float *x, *normed, *wide, *context, *row_scale, *scores;
    int8_t *quantised;
    void *pairs;        /* M x 2A: keys and values of the rows, in the cache's type */
    const char **keys;  /* pointers to the keys and values of each position, then to AHEAD of the next row */
    Team *team;
    int32_t rank, seen; /* this thread's number in its team; how many jobs it has seen begin */
} Work;

typedef struct {  /* keys and values of the encoded sources, for cross-attention: [layer][row][2A] */
    char *pairs;
    const int32_t *start, *length; /* the first row, and the number of rows, of the sentence in each place */
    int64_t rows;
} Memory;

typedef struct {  /* one step: each row is a hypothesis */
    int32_t rows, candidates;
    const int32_t *token, *position, *place;
    const int32_t *cell;     /* for each row: the cell of the cache that stores its keys and values */
    const int32_t *ancestor; /* rows x longest: the cells of a row's earlier tokens, by position */
    const int32_t *required; /* for each row: an id whose logit goes into `asked`, or -1 */
    int64_t longest, cells;
    char *cache;             /* [layer][cell][2A] */
    float *greatest, *total; /* for each row: its highest logit, and the sum of exp(logit - highest) */
    float *asked;            /* for each row: the logit of its required id */
    float *value;            /* rows x candidates: the highest allowed logits, ordered by id */
    int32_t *id;
    float *logits;           /* rows x N, or NULL */
} Step;

/* ---- Threads: each computes a share of the rows, or of a product's outputs; then all wait for each other */

enum { GO_HOME, ENCODE, STEP };

/* Return the first of the M rows that this thread computes (next = 0), or the next thread (next = 1). */
INLINE size_t first_of_share(const Work *w, size_t M, size_t next) { return M * (w->rank + next) / w->team->size; }
#define MY_ROWS(r, M) (size_t r = first_of_share(w, M, 0), last_##r = first_of_share(w, M, 1); r < last_##r; r++)

INLINE void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

/* Rest, so that other threads can run: about 50 us, because Linux adds that to a short sleep; later longer. */
#if defined(_WIN32)
__declspec(dllimport) int __stdcall SwitchToThread(void);
__declspec(dllimport) void __stdcall Sleep(unsigned long milliseconds);
static void rest(int32_t rests) {
    for (int i = 0; i < 1000; i++) pause_briefly();
    if (rests < 100) SwitchToThread();
    else Sleep(1);
}
#else
static void rest(int32_t rests) { nanosleep(&(struct timespec){0, rests < 100 ? 1000 : 200000}, NULL); }
#endif

/* Wait until another thread has changed *number, so that it is not `before`: check `turns` times, about 20 ns
   apart, then rest between checks, at most `most` times. Return the number of rests. */
static int32_t wait_while(const int32_t *number, int32_t before, int turns, int32_t most) {
    int32_t rests = 0;
    while (rests < most && __atomic_load_n(number, __ATOMIC_ACQUIRE) == before)
        if (turns > 0) turns--, pause_briefly();
        else rest(rests++);
    return rests;
}

/* Wait until all threads of the team have called this. Return how often this thread rested meanwhile. */
static int32_t wait_for_all(const Work *w, int turns) {
    Team *team = w->team;
    if (team->size == 1) return 0;
    const int32_t meeting = __atomic_load_n(&team->meeting, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) == team->size) {
        __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&team->meeting, meeting + 1, __ATOMIC_RELEASE);
        return 0;
    }
    return wait_while(&team->meeting, meeting, turns, INT32_MAX);
}

/* Wait for the other threads within a job. They come soon, unless the system runs other programs instead. */
static void meet(const Work *w) {
    const int32_t rests = wait_for_all(w, 2000);
    if (rests) __atomic_add_fetch(&w->team->rests, rests, __ATOMIC_RELAXED);
}

/* ---- Products, in tiles of up to FEW rows and WORDS registers of outputs, whose sums stay in registers too.
   More than NARROW_FROM and up to NARROW_TO rows use narrow tiles: half the outputs, and up to ROWS rows. */

#if defined(__AVX512VNNI__)
#include <immintrin.h>
typedef __m512i word;
/* FLIP: flipping the highest bit adds 128 to an int8: dpbusd needs one unsigned operand, the activations. */
enum { WORDS = 4, FEW = 6, ROWS = 8, NARROW_FROM = 6, NARROW_TO = 24, FLIP = 0x80 };
INLINE word dot(word sum, word weight, int32_t four) {
    return _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(four), weight);
}
#elif defined(__AVXVNNI__)
#include <immintrin.h>
typedef __m256i word;
enum { WORDS = 4, FEW = 3, ROWS = 6, NARROW_FROM = 9, NARROW_TO = 1 << 30, FLIP = 0x80 };
INLINE word dot(word sum, word weight, int32_t four) {
    return _mm256_dpbusd_avx_epi32(sum, _mm256_set1_epi32(four), weight);
}
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256i word;
enum { WORDS = 4, FEW = 3, ROWS = 3, NARROW_FROM = 0, NARROW_TO = 0, FLIP = 0 };
INLINE word dot(word sum, word weight, int32_t four) { /* w a = |w| (sign(w) a); two of these fit 16 bits */
    __m256i signed_four = _mm256_sign_epi8(_mm256_set1_epi32(four), weight);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weight), signed_four);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
typedef int32x4_t word;
enum { WORDS = 4, FEW = 6, ROWS = 6, NARROW_FROM = 0, NARROW_TO = 0, FLIP = 0 };
INLINE word dot(word sum, word weight, int32_t four) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(weight), vreinterpretq_s8_s32(vdupq_n_s32(four)));
}
#else
typedef int32_t word __attribute__((vector_size(16)));
typedef int8_t bytes __attribute__((vector_size(16)));
enum { WORDS = 4, FEW = 2, ROWS = 2, NARROW_FROM = 0, NARROW_TO = 0, FLIP = 0 };
INLINE word dot(word sum, word weight, int32_t four) {
    bytes w = (bytes)weight, a = (bytes)((word){0} + four);
    for (int i = 0; i < 4; i++)
        sum[i] += w[4 * i] * a[0] + w[4 * i + 1] * a[1] + w[4 * i + 2] * a[2] + w[4 * i + 3] * a[3];
    return sum;
}
#endif

/* SPAN vectors of sums, for ABREAST rows, are what attention holds in registers. COLUMNS: outputs of a tile. */
enum { SPAN = sizeof(word) == 64 ? 16 : 4, ABREAST = sizeof(word) == 64 ? 4 : 1 };
enum { COLUMNS = WORDS * sizeof(word) / 4, VECTORS = COLUMNS / LANES };

typedef struct {  /* what a product reads and writes: out = in W^T + bias (+ residual) */
    const Linear *linear;
    const char *in;       /* rows of K numbers, int8 or float */
    const float *scale;   /* one for each row, int8 only */
    const float *residual; /* in the same layout as `out`, or NULL */
    float *out;
    size_t stride;  /* the distance between two rows of `out`, and of `residual`, in numbers */
    size_t first;   /* the column of `linear` that is stored in column 0 of `out` */
    float least;    /* a lower bound of the result: 0 for ReLU, otherwise -inf */
} Product;

/* Prefetch weights that are needed soon: `lines` cache lines of 64 bytes for every 256 bytes that are read.
   Into the second cache: the hint that passes it by (0, 0) lets an Intel Xeon read at a third of its speed. */
INLINE void fetch(const char *ahead, const int lines) {
    for (int i = 0; i < lines; i++) __builtin_prefetch(ahead + 64 * i, 0, 2);
}

/* Write a tile's results, with bias and residual. `p` is a copy, so that no store can change it. */
INLINE void finish(const int rows, const int vectors, const Product p, size_t row, size_t column,
                   f32v sums[][VECTORS]) {
    const size_t at = row * p.stride + column - p.first;
    UNROLL for (int v = 0; v < vectors; v++) {
        const f32v bias = load(p.linear->bias + column + LANES * v);
        UNROLL for (int m = 0; m < rows; m++) sums[m][v] += bias;
    }
    if (p.residual)
        UNROLL for (int m = 0; m < rows; m++)
            UNROLL for (int v = 0; v < vectors; v++) sums[m][v] += load(p.residual + at + m * p.stride + LANES * v);
    UNROLL for (int m = 0; m < rows; m++)
        UNROLL for (int v = 0; v < vectors; v++)
            store(p.out + at + m * p.stride + LANES * v, choose(sums[m][v] < p.least, all(p.least), sums[m][v]));
}

INLINE void tile_int8(const int rows, const int words, const int lines, const Product *p, size_t row,
                      size_t column, const char *ahead) {
    const Linear *l = p->linear;
    const size_t K = l->inputs;
    const char *weight = (const char *)l->weight + column / BLOCK * BLOCK * K + column % BLOCK * 4;
    const char *in = p->in + row * K;
    word total[ROWS][WORDS];
    for (int m = 0; m < rows; m++)
        for (int w = 0; w < words; w++) {
            total[m][w] = (word){0};
            if (FLIP) memcpy(&total[m][w], l->shift + column + w * sizeof(word) / 4, sizeof(word));
        }
    for (size_t k = 0; k < K; k += 4, weight += 4 * BLOCK, ahead += 64 * lines) {
        fetch(ahead, lines);
        word panel[WORDS];
        memcpy(panel, weight, words * sizeof(word));
        for (int m = 0; m < rows; m++) {
            int32_t four;
            memcpy(&four, in + m * K + k, 4);
            for (int w = 0; w < words; w++) total[m][w] = dot(total[m][w], panel[w], four);
        }
    }
    f32v results[ROWS][VECTORS];
    UNROLL for (int v = 0; v < words * VECTORS / WORDS; v++) {
        const f32v scale = load(l->scale + column + LANES * v);
        UNROLL for (int m = 0; m < rows; m++) {
            i32v sums;
            memcpy(&sums, total[m] + v * WORDS / VECTORS, sizeof sums);
            results[m][v] = __builtin_convertvector(sums, f32v) * p->scale[row + m] * scale;
        }
    }
    finish(rows, words * VECTORS / WORDS, *p, row, column, results);
}

/* Not for int8, whose results are the same on every processor: a fused product is not rounded before the sum. */
INLINE f32v multiply_add(f32v a, f32v b, f32v c) {
#if defined(__clang__) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
    return __builtin_elementwise_fma(a, b, c);
#else
    return a * b + c;
#endif
}

INLINE void tile_float(const int rows, const int bf16, const Product *p, size_t row, size_t column) {
    const Linear *l = p->linear;
    const size_t K = l->inputs, size = bf16 ? 2 : 4;
    const char *weight = (const char *)l->weight + (column / BLOCK * BLOCK * K + column % BLOCK) * size;
    const float *in = (const float *)p->in + row * K;
    f32v total[ROWS][VECTORS];
    for (int m = 0; m < rows; m++)
        for (int v = 0; v < VECTORS; v++) total[m][v] = all(0.0f);
    for (size_t k = 0; k < K; k++, weight += BLOCK * size) {
        f32v panel[VECTORS];
        fetch(weight + 4096, COLUMNS * (int)size / 64);
        for (int v = 0; v < VECTORS; v++)
            panel[v] = bf16 ? (f32v)(__builtin_convertvector(((const u16v *)weight)[v], u32v) << 16)
                            : ((const f32v *)weight)[v];
        for (int m = 0; m < rows; m++)
            for (int v = 0; v < VECTORS; v++) total[m][v] = multiply_add(all(in[m * K + k]), panel[v], total[m][v]);
    }
    finish(rows, VECTORS, *p, row, column, total);
}

/* Compute one tile. In each case `rows` and `lines` are constants, so the compiler can unroll the loops. */
static void tile(const int kind, size_t rows, int narrow, int lines, const Product *p, size_t row, size_t column,
                 const char *ahead) {
#define CASE(n)                                                                         \
    case n:                                                                             \
        if (n > ROWS) break;                                                            \
        if (narrow && lines == 1) tile_int8(n, WORDS / 2, 1, p, row, column, ahead);    \
        else if (narrow) tile_int8(n, WORDS / 2, 2, p, row, column, ahead);             \
        else if (n > FEW) break;                                                        \
        else if (kind == FP32) tile_float(n, 0, p, row, column);                        \
        else if (kind == BF16) tile_float(n, 1, p, row, column);                        \
        else if (lines == 4) tile_int8(n, WORDS, COLUMNS / 16, p, row, column, ahead);  \
        else if (lines == 2) tile_int8(n, WORDS, 2, p, row, column, ahead);             \
        else tile_int8(n, WORDS, 1, p, row, column, ahead);                             \
        break;
    switch (rows) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
    }
}

/* Compute columns `from` to `to` (multiples of BLOCK) of a product for M rows; each thread computes a share.
   A panel stays in the nearest cache while all rows use it; each tile prefetches a part of the next panel. */
static void multiply(const int kind, const Work *w, const Product *p, size_t M, size_t from, size_t to) {
    const int narrow = kind == INT8 && FEW < ROWS && M > NARROW_FROM && M <= NARROW_TO;
    const size_t most = narrow ? ROWS : FEW, columns = narrow ? COLUMNS / 2 : COLUMNS;
    const size_t groups = (M + most - 1) / most, tiles = BLOCK / columns * groups;
    const size_t bytes = (size_t)p->linear->inputs * BLOCK;
    const int lines = groups == 1 && !narrow ? 4 : tiles < 4 ? 2 : 1;
    const size_t panels = (to - from) / BLOCK, last = from + first_of_share(w, panels, 1) * BLOCK;
    for (size_t panel = from + first_of_share(w, panels, 0) * BLOCK; panel < last; panel += BLOCK) {
        const char *weight = (const char *)p->linear->weight + panel / BLOCK * bytes;
        for (size_t i = 0; i < tiles; i++) {
            const size_t group = i % groups, row = M * group / groups, next = M * (group + 1) / groups;
            const char *ahead = weight + (lines == 4 ? 8192 + i * columns * 4 : bytes + bytes * i / tiles);
            tile(kind, next - row, narrow, lines, p, row, panel + i / groups * columns, ahead);
        }
    }
}

/* ---- Work on single rows */

/* Quantise a row to int8: x is about scale times q. If the row contains NaN or infinity, its scale is NaN. */
INLINE void quantise(const float *x, size_t K, int8_t *q, float *scale, const int flip) {
    i32v most = {0}; /* compared as integers, the bits of magnitudes keep their order; NaN is the highest */
    for (size_t k = 0; k < K; k += LANES) {
        const i32v v = (i32v)magnitude(load(x + k));
        most = (v & (v > most)) | (most & ~(v > most));
    }
    const f32v nothing = (f32v)most * 0.0f;
    float top = highest((f32v)most);
    top = top > 1e-30f ? top : 1e-30f;
    *scale = top / 127.0f + sum(nothing);
    f32v factor = all(127.0f / top);
    for (size_t k = 0; k < K; k += LANES) {
        i32v whole;
        rounded(load(x + k) * factor, &whole);
        *(i8v *)(q + k) = __builtin_convertvector(whole ^ flip, i8v);
    }
}

/* Apply LayerNorm to the first D of `padded` numbers; the numbers after these are 0 and stay 0. */
static void normalise(const Model *m, const Norm *norm, const float *x, float *out) {
    f32v total = all(0.0f), squares = all(0.0f);
    i32v place;
    for (int i = 0; i < LANES; i++) place[i] = i;
    for (int k = 0; k < m->padded; k += LANES) total += load(x + k);
    float mean = sum(total) / (float)m->width;
    for (int k = 0; k < m->padded; k += LANES) {
        f32v d = choose(place + k < m->width, load(x + k) - mean, all(0.0f));
        squares += d * d;
    }
    float factor = 1.0f / sqrtf(sum(squares) / (float)m->width + 1e-5f);
    for (int k = 0; k < m->padded; k += LANES)
        store(out + k, (load(x + k) - mean) * factor * load(norm->gain + k) + load(norm->bias + k));
}

/* Return x P(N(0, 1) <= x), with formula 7.1.26 of Abramowitz and Stegun, whose error is below 1.5e-7. */
INLINE f32v gelu(f32v x) {
    f32v z = magnitude(x) * 0.70710678f, t = 1.0f / (z * 0.3275911f + 1.0f);
    f32v p = t * 1.061405429f - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    f32v tail = p * t * exponential(-(z * z)) * 0.5f; /* P(N(0, 1) > |x|) */
    return x * choose(x > 0.0f, 1.0f - tail, tail);
}

static void activate(const int activation, float *x, size_t count) {
    for (size_t i = 0; i < count; i += LANES) {
        f32v v = load(x + i);
        if (activation == GELU) v = gelu(v);
        else v = v / (exponential(choose(v < -MOST, all(MOST), -v)) + 1.0f);
        store(x + i, v);
    }
}

/* Return the bf16 number nearest to a float: its upper 16 bits, rounded half to even. */
INLINE uint16_t narrowed(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

INLINE float widened(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* With BF16, `table` is still the model's own table of floats, so its numbers are rounded here. */
static void embed(const Model *m, const float *table, int32_t id, int32_t position, float *x) {
    const float *vector = table + (size_t)id * m->width, *where = m->positions + (size_t)position * m->width;
    for (int k = 0; k < m->width; k++)
        x[k] = (m->kind == BF16 ? widened(narrowed(vector[k])) : vector[k]) * m->scale + where[k];
    memset(x + m->width, 0, sizeof(float) * (m->padded - m->width));
}

/* ---- Attention: the keys and values of different positions may be anywhere in memory */

INLINE f32v read_pair(const int half, const char *base, size_t at) {
    return half ? __builtin_convertvector(*(const f16v *)(base + 2 * at), f32v) : load((const float *)base + at);
}

/* Return the first `count` numbers of a vector, then -inf (to store -inf first would delay the load). */
INLINE f32v first_of(const float *p, size_t count) {
    const i32v place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return choose(place < (int32_t)(count < LANES ? count : LANES), load(p), all(-INFINITY));
}

/* Replace scores by weights, exp(score - highest), and store 1 / (sum of the weights) after them. */
INLINE void softmax(float *scores, size_t keys, size_t room) {
    f32v most = all(-INFINITY), total = all(0.0f);
    for (size_t t = 0; t < room; t += LANES) most = larger(first_of(scores + t, keys - t), most);
    float top = highest(most);
    for (size_t t = 0; t < room; t += LANES) {
        f32v weight = exponential(first_of(scores + t, keys - t) - top);
        store(scores + t, weight);
        total += weight;
    }
    scores[room] = 1.0f / sum(total);
}

/* For each row, compute weighted sums of `span` vectors of values, from vector `first` of all heads on. */
INLINE void weigh_values(const int half, const int rows, const int span, const size_t vectors, const Model *m,
                         const Work *w, size_t first, size_t keys, size_t room, float *out) {
    const float *weights[SPAN];
    f32v total[SPAN];
    UNROLL for (int i = 0; i < rows * span; i++) {
        weights[i] = w->scores + (i / span * m->heads + (first + i % span) / vectors) * (room + LANES);
        total[i] = all(0.0f);
    }
    for (size_t t = 0; t < keys; t++) {
        const char *values = w->keys[t] + (m->across + first * LANES) * (half ? 2 : 4);
        UNROLL for (int i = 0; i < rows * span; i++) /* unrolled, so that the sums stay in registers */
            total[i] += weights[i][t] * read_pair(half, values, i % span * LANES);
    }
    UNROLL for (int i = 0; i < rows * span; i++)
        store(out + i / span * m->across + (first + i % span) * LANES, total[i] * weights[i][room]);
}

/* Let several rows attend to the same keys, so that the keys are read and converted only once. */
INLINE void attend_to(const int half, const int rows, const size_t vectors, const Model *m, const Work *w,
                      const float *query, size_t stride, size_t keys, float *out) {
    const size_t room = (keys + LANES - 1) / LANES * LANES, head = vectors * LANES;
    for (size_t t = 0; t < keys; t += 4) {
        const char *some[4], *const *soon = w->keys + t + 4;
        for (size_t i = 0; i < 4; i++) some[i] = w->keys[t + i < keys ? t + i : keys - 1];
        for (int h = 0; h < m->heads; h++) {
            f32v p[ABREAST][4];
            for (int r = 0; r < rows; r++)
                for (int i = 0; i < 4; i++) p[r][i] = all(0.0f);
            for (size_t k = h * head; k < (h + 1) * head; k += LANES) {
                f32v key[4];
                for (int i = 0; i < 4; i++) key[i] = read_pair(half, some[i], k);
                for (int r = 0; r < rows; r++)
                    for (int i = 0; i < 4; i++) p[r][i] = load(query + r * stride + k) * key[i] + p[r][i];
            }
            for (int i = 0; i < 4; i++) /* the head's values and its next keys are needed soon */
                for (size_t k = h * head; k < (h + 1) * head; k += half ? 32 : 16) {
                    __builtin_prefetch(some[i] + (m->across + k) * (half ? 2 : 4), 0, 3);
                    __builtin_prefetch(soon[i] + k * (half ? 2 : 4), 0, 3);
                }
            for (int r = 0; r < rows; r++) {
                float *scores = w->scores + (r * m->heads + h) * (room + LANES);
                *(f32x4 *)(scores + t) = sums(p[r][0], p[r][1], p[r][2], p[r][3]) * m->score_scale;
            }
        }
    }
    for (int i = 0; i < rows * m->heads; i++) softmax(w->scores + i * (room + LANES), keys, room);
    const size_t count = m->heads * vectors;
    size_t v = 0;
    for (; v + SPAN / rows <= count; v += SPAN / rows)
        weigh_values(half, rows, SPAN / rows, vectors, m, w, v, keys, room, out);
    for (; v < count; v++) weigh_values(half, rows, 1, vectors, m, w, v, keys, room, out);
}

/* Let rows, whose queries are `stride` numbers apart, attend to the same keys; `out` is rows x A. */
static void attend(const Model *m, const Work *w, const float *query, size_t stride, size_t rows, size_t keys,
                   float *out) {
    const int half = m->kind == INT8;
    const size_t vectors = m->head / LANES;
    memset(out, 0, sizeof(float) * rows * m->across);
    if (!keys) return;
#define ATTEND(half, rows, vectors) attend_to(half, rows, vectors, m, w, query, stride, keys, out)
    for (; half && rows >= ABREAST; rows -= ABREAST, query += ABREAST * stride, out += ABREAST * m->across)
        if (vectors == 4) ATTEND(1, ABREAST, 4);
        else if (vectors == 2) ATTEND(1, ABREAST, 2);
        else ATTEND(1, ABREAST, vectors);
    for (; rows; rows--, query += stride, out += m->across)
        if (!half) ATTEND(0, 1, vectors);
        else if (vectors == 4) ATTEND(1, 1, 4);
        else if (vectors == 2) ATTEND(1, 1, 2);
        else ATTEND(1, 1, vectors);
}

/* Return the size in bytes of one position's keys and values (2A numbers) in the cache. */
static size_t pair_bytes(const Model *m) { return (size_t)m->across * 2 * (m->kind == INT8 ? 2 : 4); }

static void remember(const Model *m, const float *from, char *to) {
    if (m->kind != INT8) memcpy(to, from, pair_bytes(m));
    else
        for (int k = 0; k < 2 * m->across; k += LANES)
            ((f16v *)to)[k / LANES] = __builtin_convertvector(load(from + k), f16v);
}

/* ---- Layers */

/* Compute out = max(least, in W^T + bias (+ residual)) for M rows of K numbers each. */
static void project_from(const float least, const Model *m, const Work *w, const Linear *l, const float *in,
                         size_t M, const float *residual, float *out) {
    Product p = {l, (const char *)in, w->row_scale, residual, out, l->outputs, 0, least};
    if (m->kind == INT8) {
        for MY_ROWS(r, M)
            quantise(in + r * l->inputs, l->inputs, w->quantised + r * l->inputs, w->row_scale + r, FLIP);
        p.in = (const char *)w->quantised;
    }
    meet(w);
    multiply(m->kind, w, &p, M, 0, l->outputs);
    meet(w);
}

static void project(const Model *m, const Work *w, const Linear *l, const float *in, size_t M,
                    const float *residual, float *out) {
    project_from(-INFINITY, m, w, l, in, M, residual, out);
}

/* Return the input of a sublayer: LayerNorm(x) if norms come first, otherwise x. */
static const float *before(const Model *m, const Work *w, const Norm *norm, size_t M) {
    if (!m->norm_first) return w->x;
    for MY_ROWS(r, M) normalise(m, norm, w->x + r * m->padded, w->normed + r * m->padded);
    return w->normed;
}

static void after(const Model *m, const Work *w, const Norm *norm, size_t M) {
    if (!m->norm_first)
        for MY_ROWS(r, M) normalise(m, norm, w->x + r * m->padded, w->x + r * m->padded);
}

static void feed_forward(const Model *m, const Work *w, const Layer *l, const Norm *norm, size_t M) {
    const float least = m->activation == RELU ? 0.0f : -INFINITY;
    project_from(least, m, w, &l->inner, before(m, w, norm, M), M, NULL, w->wide);
    if (m->activation != RELU)
        for MY_ROWS(r, M) activate(m->activation, w->wide + r * m->hidden, m->hidden);
    project(m, w, &l->outer, w->wide, M, w->x, w->x);
    after(m, w, norm, M);
}

static void encoder_layer(const Model *m, const Work *w, const Layer *l, const int32_t *starts, size_t S) {
    const size_t M = starts[S], A = m->across, bytes = pair_bytes(m);
    project(m, w, &l->qkv, before(m, w, &l->norm[0], M), M, NULL, w->wide);
    for MY_ROWS(r, M) remember(m, w->wide + r * 3 * A + A, (char *)w->pairs + r * bytes);
    meet(w);
    const size_t first = first_of_share(w, M, 0), last = first_of_share(w, M, 1);
    for (size_t s = 0; s < S; s++) {
        const size_t start = starts[s], end = starts[s + 1], keys = end - start;
        const size_t r = start > first ? start : first, until = end < last ? end : last;
        if (r >= until) continue;
        for (size_t t = 0; t < keys + AHEAD; t++)
            w->keys[t] = (char *)w->pairs + (start + (t < keys ? t : 0)) * bytes;
        attend(m, w, w->wide + r * 3 * A, 3 * A, until - r, keys, w->context + r * A);
    }
    project(m, w, &l->self_output, w->context, M, w->x, w->x);
    after(m, w, &l->norm[0], M);
    feed_forward(m, w, l, &l->norm[1], M);
}

/* Encode sentences (the ids of sentence s begin at starts[s]). Write the keys and values that the decoder's
   layers attend to into the memory, each sentence at its place. */
static void encode(const Model *m, const Work *w, const Memory *memory) {
    const int32_t S = w->team->sentences, *starts = w->team->starts, *places = w->team->places;
    const size_t M = starts[S], bytes = pair_bytes(m);
    int32_t s = 0;
    for MY_ROWS(r, M) {
        while (r >= (size_t)starts[s + 1]) s++;
        embed(m, m->source_embedding, w->team->ids[r], r - starts[s], w->x + r * m->padded);
    }
    for (int i = 0; i < m->encoder_layers; i++) encoder_layer(m, w, m->encoder + i, starts, S);
    const float *encoded = before(m, w, &m->encoder_norm, M);
    for (int i = 0; i < m->decoder_layers; i++) {
        project(m, w, &m->decoder[i].cross_kv, encoded, M, NULL, w->wide);
        s = 0;
        for MY_ROWS(r, M) {
            while (r >= (size_t)starts[s + 1]) s++;
            const size_t row = (size_t)i * memory->rows + memory->start[places[s]] + r - starts[s];
            remember(m, w->wide + r * 2 * m->across, memory->pairs + row * bytes);
        }
    }
}

static void look_back(const Model *m, const Work *w, const Layer *l, const Step *s, size_t layer) {
    const size_t A = m->across, bytes = pair_bytes(m), M = s->rows;
    char *cache = s->cache + layer * s->cells * bytes;
    project(m, w, &l->qkv, before(m, w, &l->norm[0], M), M, NULL, w->wide);
    for MY_ROWS(r, M) remember(m, w->wide + r * 3 * A + A, cache + s->cell[r] * bytes);
    for MY_ROWS(r, M) {
        const size_t keys = s->position[r] + 1;
        const int32_t *past = s->ancestor + r * s->longest, *next = past + (r + 1 < M ? s->longest : 0);
        for (size_t t = 0; t + 1 < keys; t++) w->keys[t] = cache + past[t] * bytes;
        w->keys[keys - 1] = cache + s->cell[r] * bytes;
        for (size_t t = 0; t < AHEAD; t++) w->keys[keys + t] = cache + next[t + 1 < keys ? t : 0] * bytes;
        attend(m, w, w->wide + r * 3 * A, 3 * A, 1, keys, w->context + r * A);
    }
    project(m, w, &l->self_output, w->context, M, w->x, w->x);
    after(m, w, &l->norm[0], M);
}

static void look_at_source(const Model *m, const Work *w, const Layer *l, const Step *s, const Memory *memory,
                           size_t layer) {
    const size_t A = m->across, bytes = pair_bytes(m), M = s->rows;
    const char *source = memory->pairs + layer * memory->rows * bytes;
    project(m, w, &l->cross_query, before(m, w, &l->norm[1], M), M, NULL, w->wide);
    const size_t last = first_of_share(w, M, 1);
    for (size_t r = first_of_share(w, M, 0), end; r < last; r = end) {
        const int32_t here = s->place[r];
        for (end = r + 1; end < last && s->place[end] == here;) end++;
        const int32_t next = s->place[end < M ? end : r];
        const size_t keys = memory->length[here], more = memory->length[next];
        for (size_t t = 0; t < keys; t++) w->keys[t] = source + (memory->start[here] + t) * bytes;
        for (size_t t = 0; t < AHEAD; t++)
            w->keys[keys + t] = source + (memory->start[next] + (t < more ? t : 0)) * bytes;
        attend(m, w, w->wide + r * A, A, end - r, keys, w->context + r * A);
    }
    project(m, w, &l->cross_output, w->context, M, w->x, w->x);
    after(m, w, &l->norm[1], M);
}

/* ---- Logits: computed for one chunk of the vocabulary at a time; only what search needs is kept */

INLINE int any(i32v mask) {
#if defined(__clang__)
    return __builtin_reduce_or(mask) != 0;
#else
    int32_t found = 0;
    for (int i = 0; i < LANES; i++) found |= mask[i];
    return found != 0;
#endif
}

/* Insert a block of logits into the `count` best so far: highest first; among equal ones, lowest id first. */
static void insert(const Model *m, float *value, int32_t *id, int count, const float *logits, int32_t first) {
    for (int from = 0; from < BLOCK; from += LANES) {
        if (!any(load(logits + from) > value[count - 1])) continue;
        for (int i = from; i < from + LANES; i++) {
            if (!(logits[i] > value[count - 1]) || m->forbidden[first + i]) continue;
            int place = count - 1;
            for (; place > 0 && value[place - 1] < logits[i]; place--) {
                value[place] = value[place - 1], id[place] = id[place - 1];
            }
            value[place] = logits[i], id[place] = first + i;
        }
    }
}

static void order_by_id(float *value, int32_t *id, int count) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && id[j - 1] > id[j]; j--) {
            const float v = value[j]; const int32_t n = id[j];
            value[j] = value[j - 1], id[j] = id[j - 1], value[j - 1] = v, id[j - 1] = n;
        }
}

/* Update row r's highest logit, its sum and its candidates with the next chunk of its logits. */
static void weigh(const Model *m, const Step *s, size_t r, const float *logits, size_t count, size_t first) {
    float *value = s->value + r * s->candidates;
    f32v most = load(logits), total = all(0.0f);
    for (size_t i = 0; i < count; i += BLOCK) {
        f32v v = larger(larger(load(logits + i), load(logits + i + LANES)),
                        larger(load(logits + i + 2 * LANES), load(logits + i + 3 * LANES)));
        most = larger(v, most);
        if (s->candidates && any(v > value[s->candidates - 1]))
            insert(m, value, s->id + r * s->candidates, s->candidates, logits + i, (int32_t)(first + i));
    }
    if ((size_t)s->required[r] - first < count) s->asked[r] = logits[s->required[r] - first]; /* id -1: no */
    float top = highest(most), before = s->greatest[r];
    for (size_t i = 0; i < count; i += LANES) total += exponential(load(logits + i) - top);
    float here = sum(total);
    if (top > before) {
        s->greatest[r] = top;
        s->total[r] = first ? s->total[r] * exponential(all(before - top))[0] + here : here;
    } else {
        s->total[r] = first ? s->total[r] + here * exponential(all(top - before))[0] : here;
    }
}

static void find_candidates(const Model *m, const Work *w, const Step *s) {
    const Linear *l = &m->logits;
    const size_t M = s->rows, N = l->outputs, K = l->inputs;
    const float *in = before(m, w, &m->decoder_norm, M);
    Product p = {l, (const char *)in, w->row_scale, NULL, w->wide, CHUNK, 0, -INFINITY};
    if (m->kind == INT8) {
        for MY_ROWS(r, M) quantise(in + r * K, K, w->quantised + r * K, w->row_scale + r, FLIP);
        p.in = (const char *)w->quantised;
    }
    for MY_ROWS(r, M) {
        s->greatest[r] = -INFINITY, s->total[r] = 0.0f, s->asked[r] = 0.0f;
        for (size_t i = r * s->candidates; i < (r + 1) * s->candidates; i++) s->value[i] = -INFINITY, s->id[i] = 0;
    }
    meet(w);
    for (size_t from = 0; from < N; from += CHUNK) {
        const size_t to = from + CHUNK < N ? from + CHUNK : N;
        if (s->logits) p.out = s->logits, p.stride = N;
        else p.first = from, p.out = w->wide + from / CHUNK % 2 * M * CHUNK; /* others may read the last */
        multiply(m->kind, w, &p, M, from, to);
        meet(w);
        for MY_ROWS(r, M) weigh(m, s, r, p.out + r * p.stride + from - p.first, to - from, from);
    }
    for MY_ROWS(r, M) order_by_id(s->value + r * s->candidates, s->id + r * s->candidates, s->candidates);
}

/* Compute one step: read each row's token, at its position, and write its candidates (and logits). */
static void step(const Model *m, const Work *w, const Memory *memory, const Step *s) {
    const size_t M = s->rows;
    for MY_ROWS(r, M)
        embed(m, m->target_embedding, s->token[r], s->position[r], w->x + r * m->padded);
    for (int i = 0; i < m->decoder_layers; i++) {
        const Layer *l = m->decoder + i;
        look_back(m, w, l, s, i);
        look_at_source(m, w, l, s, memory, i);
        feed_forward(m, w, l, &l->norm[2], M);
    }
    find_candidates(m, w, s);
}

/* Do this thread's share of the current job. All begin together, so that rests before a job do not count. */
static void work(const Model *m, const Work *w, const Memory *memory, const Step *s) {
    wait_for_all(w, 20000);
    if (w->team->job == ENCODE) encode(m, w, memory);
    if (w->team->job == STEP) step(m, w, memory, s);
    meet(w);
}

/* Begin a job; only the first thread of a team calls this. It returns at once if the job is to go home. */
EXPORT void NAME(begin)(const Model *m, const Work *w, const Memory *memory, const Step *s, int32_t job) {
    w->team->job = job;
    __atomic_add_fetch(&w->team->jobs, 1, __ATOMIC_RELEASE);
    if (job != GO_HOME) work(m, w, memory, s);
}

/* Help with each job; the other threads call this. Between jobs, while search chooses tokens, they check for
   half a millisecond without rest, then with rests. Return 0 if they may go home, or 1 if no job came in some
   0.1 s: the caller then checks whether the team still exists, and calls this again. */
EXPORT int32_t NAME(help)(const Model *m, Work *w, const Memory *memory, const Step *s) {
    for (;;) {
        if (wait_while(&w->team->jobs, w->seen, 20000, 600) == 600) return 1;
        w->seen++;
        if (w->team->job == GO_HOME) return 0;
        work(m, w, memory, s);
    }
}

/* ---- Packing */

static void pack_floats(const int bf16, const float *matrix, int64_t rows, int64_t given, int64_t K, char *packed) {
    for (int64_t n = 0; n < rows; n += BLOCK) {
        const int64_t outputs = rows - n < BLOCK ? rows - n : BLOCK;
        char *panel = packed + n * K * (bf16 ? 2 : 4);
        for (int64_t k = 0; k < given; k++)
            for (int64_t i = 0; i < outputs; i++) {
                const float x = matrix[(n + i) * given + k];
                if (bf16) ((uint16_t *)panel)[k * BLOCK + i] = narrowed(x);
                else ((float *)panel)[k * BLOCK + i] = x;
            }
    }
}

/* Pack a matrix of `rows` x `given` numbers into panels of K inputs (K >= `given`; the others are zero), in int8
   (with scales and shifts), bf16 or floats. `packed` must be zero before. `room`: a buffer of 2 K numbers. */
EXPORT void NAME(pack)(int32_t kind, const float *matrix, int64_t rows, int64_t given, int64_t K, char *packed,
                       float *scale, int32_t *shift, float *room) {
    if (kind != INT8) {
        pack_floats(kind == BF16, matrix, rows, given, K, packed);
        return;
    }
    int8_t *q = (int8_t *)(room + K);
    memset(room, 0, K * sizeof(float));
    for (int64_t n = 0; n < rows; n++) {
        char *panel = packed + n / BLOCK * BLOCK * K;
        const int64_t place = n % BLOCK;
        int32_t total = 0;
        memcpy(room, matrix + n * given, given * sizeof(float));
        quantise(room, K, q, scale + n, 0);
        for (int64_t k = 0; k < K; k++) total += q[k];
        shift[n] = -128 * total;
        for (int64_t k = 0; k < K; k += 4) memcpy(panel + k * BLOCK + place * 4, q + k, 4);
    }
}

#if defined(DISPATCH)
EXPORT uint32_t checksum(void) { return CHECKSUM; } /* of this file: tells whether a library is outdated */

/* ---- Which kinds of kernels can run here, a bit each: the system must also save the registers they use */
enum { AVX2 = 1, AVXVNNI = 2, AVX512 = 4, NEON = 8 };
#if defined(__x86_64__)
#include <cpuid.h>
EXPORT int32_t processor(void) {
    uint32_t a, b, c, d, saved, upper, one;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0; /* the system must save wide registers */
    int fma = c >> 12 & 1, half = c >> 29 & 1;
    __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !__get_cpuid_count(7, 1, &one, &upper, &upper, &upper))
        one = 0;
    int found = 0;
    if ((saved & 6) == 6 && (b >> 5 & 1) && fma && half) found |= AVX2 | (one >> 4 & 1 ? AVXVNNI : 0);
    const uint32_t wide = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    if ((saved & 0xe6) == 0xe6 && found && (b & wide) == wide && (c >> 11 & 1)) found |= AVX512;
    return found;
}
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
EXPORT int32_t processor(void) { return getauxval(AT_HWCAP) >> 20 & 1 ? NEON : 0; }
#elif defined(__aarch64__) && defined(__APPLE__)
EXPORT int32_t processor(void) { return NEON; } /* all Apple processors have it */
#else
EXPORT int32_t processor(void) { return 0; }
#endif
#endif
