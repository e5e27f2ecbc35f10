/* SplitMix64: a stream is one number, and that of round t is a function of (seed, t). */
#ifndef DRIFTWISE_RANDOM_H
#define DRIFTWISE_RANDOM_H
#include <stdint.h>

typedef uint64_t u64;
typedef int64_t i64;

static const double ULP = 0x1p-53;

static inline u64 mix(u64 z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static inline u64 stream(u64 rng, i64 t) { return mix(rng + (u64)t * 0xD1342543DE82EF95u); }
static inline u64 bits(u64 *rng) { return mix(*rng += 0x9E3779B97F4A7C15u); }
static inline double uniform(u64 *rng) { return (double)(bits(rng) >> 11) * ULP; }
static inline double positive_uniform(u64 *rng) { return (double)((bits(rng) >> 11) | 1) * ULP; }

#endif
