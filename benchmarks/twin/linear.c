/* The plain C twin of sliding-window LinUCB: same algorithm and order of operations as driftwise's kernels, written as
 * one would by hand. Choices and rewards agree with driftwise's bit for bit, repairs of the inverse included.
 *
 * Built together with twin.c, with the same flags.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;

enum { LANES = 64, FEW = 8, SMALL = 12 };
static const double UNIT = 0x1p-53, TOLERANCE = 1e-9, FINE = 1e-12, SLACK = 64.0, HOPELESS = 1e-6, THIN = 1e-4;

typedef struct {
    i64 dim, cursor, repairs;
    double *gram, *gram_rest, *inverse, *factor;                                   /* dim x dim */
    double *moment, *moment_rest, *errors, *theta, *image, *answer;                /* dim */
    double *columns, means[LANES], squares[LANES], crosses[LANES];                 /* columns: dim x LANES */
} Ridge;

/* ---- the regression ---- */

static inline double dot(i64 n, const double *restrict x, const double *restrict y)
{
    double total = 0.0;
    for (i64 i = 0; i < n; i++) total += x[i] * y[i];
    return total;
}
static inline void multiply(i64 n, const double *restrict matrix, const double *restrict x, double *restrict out)
{
    if (n < SMALL) {
        for (i64 i = 0; i < n; i++) out[i] = dot(n, x, matrix + i * n);
        return;
    }
    memset(out, 0, n * sizeof *out);
    for (i64 j = 0; j < n; j++) {
        const double weight = x[j], *restrict row = matrix + j * n;
        if (weight != 0.0) for (i64 i = 0; i < n; i++) out[i] += weight * row[i];
    }
}
static inline void add(double *restrict value, double *restrict rest, double term)
{
    double total = *value + term, kept = total - *value;
    double left = *rest + ((*value - (total - kept)) + (term - kept)), nearest = total + left;
    *value = nearest;
    *rest = left - (nearest - total);
}
static inline void add_pair(Ridge *r, const double *restrict x, double y, double sign)
{
    const i64 n = r->dim;
    for (i64 i = 0; i < n; i++) {
        const double weight = sign * x[i];
        if (weight == 0.0) continue;
        double *restrict row = r->gram + i * n, *restrict rest = r->gram_rest + i * n;
        add(&r->moment[i], &r->moment_rest[i], weight * y);
        for (i64 j = 0; j < n; j++) add(&row[j], &rest[j], weight * x[j]);
    }
}
static inline void follow(Ridge *r, double sign, double scale)
{
    const i64 n = r->dim;
    const double factor = 1.0 / sqrt(scale);
    double *restrict image = r->image;
    for (i64 i = 0; i < n; i++) image[i] *= factor;
    for (i64 i = 0; i < n; i++) {
        const double weight = sign * image[i];
        double *restrict row = r->inverse + i * n;
        if (weight != 0.0) for (i64 j = 0; j < n; j++) row[j] += weight * image[j];
    }
}
static inline double strain(const Ridge *r)
{
    double total = 0.0;
    for (i64 i = 0; i < r->dim; i++) total += r->gram[i * (r->dim + 1)] * r->inverse[i * (r->dim + 1)];
    return total;
}
static inline double allowed(const Ridge *r)
{
    const double rounding = UNIT * strain(r);
    if (!(rounding < HOPELESS)) return -1.0;
    return fmin(fmax(TOLERANCE, SLACK * rounding), HOPELESS);
}
static inline void measure(Ridge *r, i64 column)
{
    const i64 n = r->dim;
    double total = 0.0;
    multiply(n, r->gram, r->inverse + column * n, r->answer);
    r->answer[column] -= 1.0;
    for (i64 i = 0; i < n; i++) total += r->answer[i] * r->answer[i] / r->gram[i * (n + 1)];
    r->errors[column] = total * r->gram[column * (n + 1)];
}
static inline double error(const Ridge *r)
{
    double total = 0.0;
    for (i64 i = 0; i < r->dim; i++) total += r->errors[i];
    return sqrt(total);
}
static void factorise(i64 n, const double *restrict matrix, double *restrict factor)
{
    for (i64 i = 0; i < n; i++) memcpy(factor + i * n, matrix + i * n, (i + 1) * sizeof *factor);
    for (i64 k = 0; k < n; k++) {
        double *above = factor + k * n;
        above[k] = sqrt(above[k]);
        for (i64 i = k + 1; i < n; i++) {
            double *restrict row = factor + i * n;
            const double weight = row[k] = above[i] = row[k] / above[k];
            if (weight != 0.0) for (i64 j = k + 1; j <= i; j++) row[j] -= weight * above[j];
        }
    }
}
static void invert(i64 n, const double *restrict matrix, double *restrict factor, double *restrict inverse)
{
    factorise(n, matrix, factor);
    for (i64 i = 0; i < n; i++) {
        double *row = inverse + i * n;
        const double *lower = factor + i * n;
        memset(row, 0, i * sizeof *row);
        for (i64 k = 0; k < i; k++)
            if (lower[k] != 0.0) for (i64 j = 0; j <= k; j++) row[j] -= lower[k] * inverse[k * n + j];
        for (i64 j = 0; j < i; j++) row[j] /= lower[i];
        row[i] = 1.0 / lower[i];
    }
    for (i64 i = 0; i < n; i++) {
        memcpy(factor + i * n, inverse + i * n, (i + 1) * sizeof *factor);
        memset(inverse + i * n, 0, (i + 1) * sizeof *inverse);
    }
    for (i64 k = 0; k < n; k++) {
        const double *row = factor + k * n;
        for (i64 i = 0; i <= k; i++)
            if (row[i] != 0.0) for (i64 j = 0; j <= i; j++) inverse[i * n + j] += row[i] * row[j];
    }
    for (i64 i = 0; i < n; i++) for (i64 j = 0; j < i; j++) inverse[j * n + i] = inverse[i * n + j];
}
static void repair(Ridge *r) /* the caller sees to it that V can be inverted */
{
    r->repairs++;
    invert(r->dim, r->gram, r->factor, r->inverse);
    for (i64 column = 0; column < r->dim; column++) measure(r, column);
}
static inline void absorb(Ridge *r, const double *x, double y)
{
    add_pair(r, x, y, 1.0);
    multiply(r->dim, r->inverse, x, r->image);
    const double grown = 1.0 + dot(r->dim, x, r->image);
    if (grown * THIN < 1.0) follow(r, -1.0, grown);
    else repair(r);
}
static inline void release(Ridge *r, const double *x, double y)
{
    const i64 n = r->dim;
    add_pair(r, x, y, -1.0);
    multiply(n, r->inverse, x, r->image);
    const double left = 1.0 - dot(n, x, r->image);
    if (!(left > THIN)) { repair(r); return; }
    follow(r, 1.0, left);
    multiply(n, r->gram, r->image, r->answer);
    double factor = 1.0 / sqrt(left), wrong = 0.0, whole = 0.0;
    for (i64 i = 0; i < n; i++) {
        const double miss = factor * r->answer[i] - x[i], own = r->gram[i * (n + 1)];
        wrong += miss * miss / own;
        whole += x[i] * x[i] / own;
    }
    const double most = allowed(r);
    if (!(most > 0.0 && wrong <= most * most * whole)) { repair(r); return; }
    double *last = &r->errors[r->cursor > 0 ? r->cursor - 1 : n - 1];
    if (whole > 0.0 && wrong / whole > *last) *last = wrong / whole;
}
static inline void audit(Ridge *r)
{
    measure(r, r->cursor);
    if (++r->cursor == r->dim) r->cursor = 0;
    if (!(error(r) <= allowed(r))) repair(r);
}
static inline void solve(Ridge *r)
{
    const i64 n = r->dim;
    multiply(n, r->inverse, r->moment, r->theta);
    if (!(error(r) > FINE)) return;
    multiply(n, r->gram, r->theta, r->answer);
    for (i64 i = 0; i < n; i++) r->answer[i] = r->moment[i] - r->answer[i];
    multiply(n, r->inverse, r->answer, r->image);
    for (i64 i = 0; i < n; i++) r->theta[i] += r->image[i];
}

/* ---- the choice ---- */

static inline void one_by_one(Ridge *r, const double *restrict rows, i64 count)
{
    const i64 n = r->dim;
    for (i64 k = 0; k < count; k++) {
        const double *restrict x = rows + k * n;
        double mean = 0.0, square = 0.0;
        for (i64 i = 0; i < n; i++) {
            const double *restrict inverse = r->inverse + i * n;
            square += x[i] * (inverse[i] * x[i] + 2.0 * dot(i, inverse, x));
            mean += x[i] * r->theta[i];
        }
        r->means[k] = mean;
        r->squares[k] = square;
    }
}
static inline void abreast(Ridge *r, const double *restrict rows, i64 count)
{
    const i64 n = r->dim;
    double *restrict means = r->means, *restrict squares = r->squares, *restrict crosses = r->crosses;
    memset(means, 0, count * sizeof *means);
    memset(squares, 0, count * sizeof *squares);
    for (i64 i = 0; i < n; i++) {
        double *restrict column = r->columns + i * LANES;
        const double *restrict inverse = r->inverse + i * n;
        for (i64 k = 0; k < count; k++) {
            column[k] = rows[k * n + i];
            crosses[k] = 0.0;
        }
        i64 j = 0;
        for (; j + 4 <= i; j += 4) {
            const double *restrict a = r->columns + j * LANES, *restrict b = a + LANES, *restrict c = b + LANES, *restrict d = c + LANES;
            for (i64 k = 0; k < count; k++)
                crosses[k] = crosses[k] + inverse[j] * a[k] + inverse[j + 1] * b[k] + inverse[j + 2] * c[k] + inverse[j + 3] * d[k];
        }
        for (; j < i; j++) {
            const double *restrict a = r->columns + j * LANES;
            for (i64 k = 0; k < count; k++) crosses[k] += inverse[j] * a[k];
        }
        const double own = inverse[i], slope = r->theta[i];
        for (i64 k = 0; k < count; k++) {
            squares[k] += column[k] * (own * column[k] + 2.0 * crosses[k]);
            means[k] += column[k] * slope;
        }
    }
}
static inline i64 most_promising_row(Ridge *r, const double *rows, i64 n_rows, double radius)
{
    i64 best = 0;
    double top = -INFINITY;
    for (i64 first = 0; first < n_rows; first += LANES) {
        const i64 count = n_rows - first < LANES ? n_rows - first : LANES;
        if (count < FEW) one_by_one(r, rows + first * r->dim, count);
        else abreast(r, rows + first * r->dim, count);
        for (i64 k = 0; k < count; k++) {
            const double index = r->means[k] + radius * sqrt(r->squares[k] > 0.0 ? r->squares[k] : 0.0);
            if (index > top) { top = index; best = first + k; }
        }
    }
    return best;
}

/* ---- the loop; returns how often the inverse was computed afresh ---- */

i64 sliding_lin_ucb(i64 window, double prior, double radius, i64 dim, i64 n_rows, i64 T, const double *sets, const int32_t *which,
                    const double *table, const int32_t *levels, double sd, const double *noise, i64 *actions, double *rewards)
{
    Ridge r = {.dim = dim};
    double **squares[] = {&r.gram, &r.gram_rest, &r.inverse, &r.factor};
    double **lines[] = {&r.moment, &r.moment_rest, &r.errors, &r.theta, &r.image, &r.answer};
    for (int k = 0; k < 4; k++) *squares[k] = calloc(dim * dim, sizeof(double));
    for (int k = 0; k < 6; k++) *lines[k] = calloc(dim, sizeof(double));
    r.columns = calloc(dim * LANES, sizeof(double));
    for (i64 i = 0; i < dim; i++) { r.gram[i * (dim + 1)] = prior; r.inverse[i * (dim + 1)] = 1.0 / prior; }
    double *features = calloc(window * dim, sizeof *features), *kept = calloc(window, sizeof *kept);
    for (i64 t = 0, head = 0; t < T; t++) {
        const double *rows = sets + which[t] * n_rows * dim;
        solve(&r);
        const i64 action = most_promising_row(&r, rows, n_rows, radius);
        const double reward = table[levels[t] * n_rows + action] + sd * noise[t];
        double *slot = features + head * dim;
        if (t >= window) release(&r, slot, kept[head]);
        memcpy(slot, rows + action * dim, dim * sizeof *slot);
        kept[head] = reward;
        absorb(&r, slot, reward);
        audit(&r);
        if (++head == window) head = 0;
        actions[t] = action;
        rewards[t] = reward;
    }
    for (int k = 0; k < 4; k++) free(*squares[k]);
    for (int k = 0; k < 6; k++) free(*lines[k]);
    free(r.columns); free(features); free(kept);
    return r.repairs;
}
