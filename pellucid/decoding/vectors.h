/* Vectors of sixteen numbers, for the engine's kernels (kernels.c) and those of training (learning/fused.c). Each of
   these files is compiled once for each kind of processor, with -DISA=<name>, and exports functions as NAME(...). */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(function) JOIN(ISA, function)
#define INLINE static inline __attribute__((always_inline))
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL
#endif

enum { LANES = 16 };

typedef float f32v __attribute__((vector_size(64), aligned(4)));
typedef int32_t i32v __attribute__((vector_size(64), aligned(4)));
typedef uint32_t u32v __attribute__((vector_size(64), aligned(4)));
typedef uint16_t u16v __attribute__((vector_size(32), aligned(2)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16), aligned(4)));

INLINE f32v load(const float *p) { return *(const f32v *)p; }
INLINE void store(float *p, f32v x) { *(f32v *)p = x; }
INLINE f32v all(float x) { return (f32v){0} + x; }
INLINE f32v choose(i32v where, f32v yes, f32v no) { return (f32v)(((i32v)yes & where) | ((i32v)no & ~where)); }
INLINE f32v larger(f32v a, f32v b) { return choose(a > b, a, b); }
INLINE f32v magnitude(f32v x) { return (f32v)((i32v)x & 0x7fffffff); }

/* Sum four vectors, each in a fixed order: (0+2)+(1+3) in each group of four, then over the groups. */
INLINE f32x4 sums(f32v p, f32v q, f32v r, f32v s) {
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
    f32v a = LOW(p, q) + HIGH(p, q), b = LOW(r, s) + HIGH(r, s);
    f32v c = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
             __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    f32x8 d = __builtin_shufflevector(c, c, 0, 1, 2, 3, 4, 5, 6, 7) +
              __builtin_shufflevector(c, c, 8, 9, 10, 11, 12, 13, 14, 15);
    return __builtin_shufflevector(d, d, 0, 1, 2, 3) + __builtin_shufflevector(d, d, 4, 5, 6, 7);
}

INLINE float sum(f32v x) { return sums(x, x, x, x)[0]; }

INLINE float highest(f32v x) {
    x = larger(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = larger(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3));
    x = larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1));
    return x[0] > x[1] ? x[0] : x[1];
}

/* Round x to a whole number, half to even: return it as a float, store it as an integer. Needs |x| < 2^22. */
#define MAGIC 12582912.0f
INLINE f32v rounded(f32v x, i32v *whole) {
    f32v t = x + MAGIC;
    *whole = (i32v)t - 0x4b400000;
    return t - MAGIC;
}

/* Return e^x for x <= MOST, but at least 2^-126 (so also for -inf); near 0 the relative error is 2e-7. NaN stays. */
#define MOST 87.0f
INLINE f32v exponential(f32v x) {
    f32v y = x * 1.44269504f;
    y = choose(y < -126.0f, all(-126.0f), y);
    i32v whole;
    f32v r = y - rounded(y, &whole);
    f32v p = r * 0.001326472731f + 0.009671512991f;
    p = p * r + 0.05550733581f;
    p = p * r + 0.2402224243f;
    p = p * r + 0.6931470037f;
    p = p * r + 1.0f;
    return p * (f32v)((whole + 127) << 23);
}
