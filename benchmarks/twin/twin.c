/* The plain C twins of two policies: same algorithm, same tricks, same random numbers as driftwise's kernels,
 * written as one would by hand, loop and policy in one function. Their choices agree with driftwise's bit for bit.
 *
 * Build: gcc -O3 -march=native -ffp-contract=off -shared -fPIC -o twin.so twin.c -lm
 * (contraction is off because fused multiply-adds flip near-tied choices; numba does not fuse either)
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static const double LOG_2 = 0.69314718055994531;

/* ---- random numbers: ziggurat, Marsaglia-Tsang ---- */

static double normal_x[257], normal_f[257], exponential_x[257], exponential_f[257], factorials[256];
static double normal_edge, exponential_edge;

void tables(const double *nx, const double *nf, const double *ex, const double *ef, const double *lf, double ne, double ee)
{
    memcpy(normal_x, nx, sizeof normal_x);
    memcpy(normal_f, nf, sizeof normal_f);
    memcpy(exponential_x, ex, sizeof exponential_x);
    memcpy(exponential_f, ef, sizeof exponential_f);
    memcpy(factorials, lf, sizeof factorials);
    normal_edge = ne;
    exponential_edge = ee;
}

static double normal_beside(double x, unsigned layer, u64 *rng)
{
    if (layer == 0) {
        for (;;) {
            double u = positive_uniform(rng), v = positive_uniform(rng);
            double beyond = -log(u) / normal_edge;
            if (-2.0 * log(v) > beyond * beyond) return normal_edge + beyond;
        }
    }
    double height = normal_f[layer] + uniform(rng) * (normal_f[layer + 1] - normal_f[layer]);
    return height < exp(-0.5 * x * x) ? x : -1.0;
}
static inline double normal(u64 *rng)
{
    for (;;) {
        u64 word = bits(rng);
        unsigned layer = word & 255;
        double x = (double)(word >> 11) * ULP * normal_x[layer];
        if (x >= normal_x[layer + 1]) x = normal_beside(x, layer, rng);
        if (x >= 0.0) return (word >> 8) & 1 ? x : -x;
    }
}
static inline double exponential(u64 *rng)
{
    double shift = 0.0;
    for (;;) {
        u64 word = bits(rng);
        unsigned layer = word & 255;
        double x = (double)(word >> 11) * ULP * exponential_x[layer];
        if (x < exponential_x[layer + 1]) return shift + x;
        if (layer == 0) { shift += exponential_edge; continue; }
        double height = exponential_f[layer] + uniform(rng) * (exponential_f[layer + 1] - exponential_f[layer]);
        if (height < exp(-x)) return shift + x;
    }
}
static inline double gamma_draw(double shape, u64 *rng) /* shape >= 1 */
{
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = normal(rng), v = 1.0 + c * x;
        if (v <= 0.0) continue;
        v = v * v * v;
        double u = positive_uniform(rng), square = x * x;
        if (u < 1.0 - 0.0331 * square * square) return d * v;
        if (log(u) < 0.5 * square + d * (1.0 - v + log(v))) return d * v;
    }
}
static inline double beta_draw(double a, double b, u64 *rng)
{
    double x = gamma_draw(a, rng), y = gamma_draw(b, rng);
    return x / (x + y);
}

/* ---- sliding UCB, indices cached ---- */

void sliding_ucb(i64 window, double xi, i64 K, i64 T, const double *table, const int32_t *rows, const double *noise, u64 rng, i64 *actions,
                 double *rewards)
{
    int32_t *ring = malloc(window * sizeof *ring);
    double *kept = calloc(window, sizeof *kept), *sums = calloc(K, sizeof *sums), *fresh = calloc(K, sizeof *fresh);
    double *mean = malloc(K * sizeof *mean), *root = calloc(K, sizeof *root), *index = malloc(K * sizeof *index);
    i64 *counts = calloc(K, sizeof *counts), *gone = malloc(K * sizeof *gone), head = 0;
    double reach = sqrt(xi * log((double)window));
    (void)rng;
    for (i64 i = 0; i < window; i++) ring[i] = -1;
    for (i64 k = 0; k < K; k++) { mean[k] = index[k] = INFINITY; gone[k] = -1; }
    /* arms that are not in the window: first those never tried, then by how long ago they were */
#define REFRESH(k) do { i64 k_ = (k); \
        if (counts[k_] == 0) { mean[k_] = gone[k_] < 0 ? INFINITY : ldexp(9007199254740992.0 - (double)gone[k_], 900); root[k_] = 0.0; } \
        else { mean[k_] = sums[k_] / (double)counts[k_]; root[k_] = 1.0 / sqrt((double)counts[k_]); } \
        index[k_] = mean[k_] + reach * root[k_]; } while (0)
    for (i64 t = 0; t < T; t++) {
        i64 arm = 0;
        if (t >= window) {
            double top = index[0];
            for (i64 k = 1; k < K; k++) if (index[k] > top) { top = index[k]; arm = k; }
        } else {
            double scale = sqrt(xi * log((double)(t > 1 ? t : 1))), top = mean[0] + scale * root[0];
            for (i64 k = 1; k < K; k++) {
                double bound = mean[k] + scale * root[k];
                if (bound > top) { top = bound; arm = k; }
            }
        }
        double reward = noise[t] < table[rows[t] * K + arm] ? 1.0 : 0.0;
        i64 left = ring[head], slot = head;
        if (left >= 0) { counts[left]--; sums[left] -= kept[head]; gone[left] = t; }
        if (++head == window) {
            head = 0;
            memcpy(sums, fresh, K * sizeof *sums);
            memset(fresh, 0, K * sizeof *fresh);
        }
        ring[slot] = (int32_t)arm;
        kept[slot] = reward;
        counts[arm]++;
        sums[arm] += reward;
        if (head) fresh[arm] += reward;
        if (head == 0) { for (i64 k = 0; k < K; k++) REFRESH(k); }
        else {
            if (left >= 0 && left != arm) REFRESH(left);
            REFRESH(arm);
        }
        actions[t] = arm;
        rewards[t] = reward;
    }
#undef REFRESH
    free(ring); free(kept); free(sums); free(fresh); free(mean); free(root); free(index); free(counts); free(gone);
}

/* ---- sliding Thompson, lazy exact race ---- */

static inline double log_factorial(i64 n)
{
    if (n < 256) return factorials[n];
    double x = (double)n, inverse = 1.0 / x, square = inverse * inverse;
    double series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0));
    return (x + 0.5) * log(x) - x + 0.91893853320467267 + series;
}

void sliding_thompson(i64 window, i64 K, i64 T, const double *table, const int32_t *rows, const double *noise, u64 seed, i64 *actions,
                      double *rewards)
{
    int32_t *ring = malloc(window * sizeof *ring);
    double *kept = calloc(window, sizeof *kept), *wins = calloc(K, sizeof *wins), *heights = calloc(K, sizeof *heights);
    i64 *trials = calloc(K, sizeof *trials), head = 0;
    for (i64 i = 0; i < window; i++) ring[i] = -1;
#define REFRESH(k) do { i64 k_ = (k), s_ = (i64)wins[k_]; \
        heights[k_] = log_factorial(trials[k_] + 1) - log_factorial(s_) - log_factorial(trials[k_] - s_); } while (0)
    for (i64 t = 0; t < T; t++) {
        u64 rng = stream(seed, t);
        i64 first = 0;
        for (i64 k = 1; k < K; k++) if (wins[k] > wins[first]) first = k;
        i64 arm = first;
        double x = beta_draw(wins[first] + 1.0, (double)trials[first] - wins[first] + 1.0, &rng);
        double log_x = log(x), log_rest = log1p(-x);
        for (i64 k = 0; k < K; k++) {
            if (k == first) continue;
            double s = wins[k], f = (double)trials[k] - s, fall = f / (1.0 - x) - s / x, mass = 2.0, u = 1.0, y;
            if (fall > 0.0) {
                double height = heights[k] + s * log_x + f * log_rest, bound;
                i64 bits_of_bound;
                u = positive_uniform(&rng);
                bound = u * fall;
                memcpy(&bits_of_bound, &bound, sizeof bound);
                if (height < LOG_2 * (double)((bits_of_bound >> 52) - 1023)) continue;
                mass = exp(height) / fall;
            }
            if (mass > 1.0) {
                y = beta_draw(s + 1.0, f + 1.0, &rng);
                if (y <= x) continue;
            } else {
                if (u >= mass) continue;
                double step = exponential(&rng);
                y = x + step / fall;
                if (y >= 1.0) continue;
                if (uniform(&rng) >= exp(s * log(y / x) + f * log((1.0 - y) / (1.0 - x)) + step)) continue;
            }
            arm = k;
            x = y;
            log_x = log(x);
            log_rest = log1p(-x);
        }
        double reward = noise[t] < table[rows[t] * K + arm] ? 1.0 : 0.0;
        i64 left = ring[head];
        if (left >= 0) { trials[left]--; wins[left] -= kept[head]; }
        ring[head] = (int32_t)arm;
        kept[head] = reward;
        trials[arm]++;
        wins[arm] += reward;
        if (left >= 0 && left != arm) REFRESH(left);
        REFRESH(arm);
        if (++head == window) head = 0;
        actions[t] = arm;
        rewards[t] = reward;
    }
#undef REFRESH
    free(ring); free(kept); free(wins); free(heights); free(trials);
}
