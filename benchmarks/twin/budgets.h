/* What the twins with budgets share: the world and its till, the window with several views, the bounds. Same order of
 * operations as driftwise's kernels, written as one would by hand.
 */
#ifndef DRIFTWISE_BUDGETS_H
#define DRIFTWISE_BUDGETS_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { BERNOULLI, TOGETHER, EXACT };
static const double SLACK = 1e-9;

/* ---- the world: what arms pay and cost, and what is left ---- */

typedef struct {
    i64 arms, resources, rounds, law, stages;
    const double *rewards, *costs, *noise;     /* means (segments x arms), (segments x resources x arms); rounds x (1 + resources) */
    const int32_t *rows;                       /* the segment of each round */
    const i64 *starts;                         /* of each stage */
    const double *there, *known;               /* stages x resources: what there is in all, and what is planned with */
    double *spent, *luck, *paid, *rates;       /* resources; `paid` is what this round cost */
    i64 *shut;
} World;

static inline double drawn(double mean, double noise, i64 law) { return law == EXACT ? mean : noise < mean ? 1.0 : 0.0; }

static inline i64 stage_of(const World *w, i64 t)
{
    i64 stage = 0;
    while (stage + 1 < w->stages && w->starts[stage + 1] <= t) stage++;
    return stage;
}
static inline int look(const World *w, i64 t) /* write the rates; whether the world is still open */
{
    const i64 d = w->resources, stage = stage_of(w, t);
    const double rounds_left = (double)(w->rounds - t > 1 ? w->rounds - t : 1);
    for (i64 j = 0; j < d; j++) {
        const double left = w->known[stage * d + j] - w->spent[j];
        w->rates[j] = (left > 0.0 ? left : 0.0) / rounds_left;
    }
    return !(*w->shut && t >= w->starts[w->stages - 1]);
}

static inline double respond(const World *w, i64 t, i64 arm)
{
    const i64 d = w->resources, stage = stage_of(w, t), after = stage_of(w, t + 1);
    const double *restrict noise = w->noise + t * (d + 1), *restrict means = w->costs + w->rows[t] * d * w->arms;
    double *restrict spent = w->spent, *restrict paid = w->paid;
    double reward = 0.0;
    int fits = !*w->shut;
    memset(paid, 0, d * sizeof *paid);
    if (arm >= 0) {
        reward = drawn(w->rewards[w->rows[t] * w->arms + arm], noise[0], w->law);
        for (i64 j = 0; j < d; j++) paid[j] = drawn(means[j * w->arms + arm], noise[w->law == TOGETHER ? 0 : j + 1], w->law);
    }
    for (i64 j = 0; j < d; j++) {
        const double there = w->there[stage * d + j];
        if (spent[j] + paid[j] > there + SLACK * (there > 1.0 ? there : 1.0)) fits = 0;
    }
    if (arm >= 0 && !*w->shut) for (i64 j = 0; j < d; j++) w->luck[j] += paid[j] - means[j * w->arms + arm];
    for (i64 j = 0; j < d; j++) {
        if (!fits) paid[j] = 0.0;
        spent[j] += paid[j];
    }
    *w->shut = !fits && after == stage;
    return fits ? reward : 0.0;
}

/* ---- the window: a ring of rounds, and sums over the last sizes[k] of them for each view k; 0 is all ---- */

typedef struct {
    i64 arms, resources, views, room, head;    /* `head` is the slot of this round */
    const i64 *sizes;
    int32_t *ring;                             /* room; -1 where no arm was chosen */
    double *rewards, *costs;                   /* room, room x resources */
    i64 *counts;                               /* arms x views */
    double *sums, *spent;                      /* arms x views, arms x views x resources */
    i64 *changed, *left;                       /* arms whose sums a turn has changed; when an arm left the ring last */
} Window;

static Window new_window(i64 arms, i64 resources, i64 views, const i64 *sizes)
{
    Window w = {.arms = arms, .resources = resources, .views = views, .room = 1, .head = -1, .sizes = sizes};
    for (i64 k = 0; k < views; k++) if (sizes[k] > w.room) w.room = sizes[k];
    w.ring = malloc(w.room * sizeof *w.ring);
    w.rewards = calloc(w.room, sizeof *w.rewards);
    w.costs = calloc(w.room * resources, sizeof *w.costs);
    w.counts = calloc(arms * views, sizeof *w.counts);
    w.sums = calloc(arms * views, sizeof *w.sums);
    w.spent = calloc(arms * views * resources, sizeof *w.spent);
    w.changed = malloc((arms > views ? arms : views) * sizeof *w.changed);
    w.left = malloc(arms * sizeof *w.left);
    for (i64 i = 0; i < w.room; i++) w.ring[i] = -1;
    for (i64 arm = 0; arm < arms; arm++) w.left[arm] = -1;
    return w;
}
static void free_window(Window *w)
{
    free(w->ring); free(w->rewards); free(w->costs); free(w->counts); free(w->sums); free(w->spent); free(w->changed);
    free(w->left);
}
static inline void count(Window *w, i64 arm, i64 view, double reward, const double *restrict costs, double sign)
{
    const i64 cell = arm * w->views + view, d = w->resources;
    double *restrict spent = w->spent + cell * d;
    w->counts[cell] += (i64)sign;
    if (w->counts[cell] == 0) {
        w->sums[cell] = 0.0;
        memset(spent, 0, d * sizeof *spent);
        return;
    }
    w->sums[cell] += sign * reward;
    for (i64 j = 0; j < d; j++) spent[j] += sign * costs[j];
}
static void recount(Window *w, i64 t)
{
    const i64 d = w->resources;
    for (i64 k = 0; k < w->views; k++) {
        if (w->sizes[k] == 0) continue;
        for (i64 arm = 0; arm < w->arms; arm++) {
            w->sums[arm * w->views + k] = 0.0;
            memset(w->spent + (arm * w->views + k) * d, 0, d * sizeof *w->spent);
        }
        for (i64 s = t + 1 > w->sizes[k] ? t + 1 - w->sizes[k] : 0; s <= t; s++) {
            const i64 slot = s % w->room, cell = w->ring[slot] * w->views + k;
            if (w->ring[slot] < 0) continue;
            w->sums[cell] += w->rewards[slot];
            for (i64 j = 0; j < d; j++) w->spent[cell * d + j] += w->costs[slot * d + j];
        }
    }
}
static inline i64 turn(Window *w, i64 t) /* one round on; how many arms have changed */
{
    i64 changed = 0;
    if (++w->head == w->room) w->head = 0;
    for (i64 k = 0; k < w->views; k++) {
        if (w->sizes[k] == 0 || t < w->sizes[k]) continue;
        const i64 back = w->head - w->sizes[k], slot = back < 0 ? back + w->room : back, arm = w->ring[slot];
        if (arm < 0) continue;
        count(w, arm, k, w->rewards[slot], w->costs + slot * w->resources, -1.0);
        if (!changed || w->changed[changed - 1] != arm) w->changed[changed++] = arm;
    }
    if (w->ring[w->head] >= 0) w->left[w->ring[w->head]] = t;
    w->ring[w->head] = -1;
    if (w->head < w->room - 1) return changed;
    recount(w, t);
    for (i64 arm = 0; arm < w->arms; arm++) w->changed[arm] = arm;
    return w->arms;
}
static inline void enter(Window *w, i64 arm, double reward, const double *restrict costs)
{
    w->ring[w->head] = (int32_t)arm;
    w->rewards[w->head] = reward;
    memcpy(w->costs + w->head * w->resources, costs, w->resources * sizeof *costs);
    for (i64 k = 0; k < w->views; k++) count(w, arm, k, reward, costs, 1.0);
}

/* ---- bounds ---- */

static inline double width(double mean, double n, double reach, double gamma)
{
    return gamma > 0.0 ? 2.0 * reach * (sqrt(gamma * fmax(mean, 0.0) / n) + gamma / n) : reach / sqrt(n);
}
static inline double bound_reward(double total, i64 count, double reach, double gamma, i64 clip)
{
    const double n = (double)count + 1.0, mean = total / n, upper = mean + width(mean, n, reach, gamma);
    return clip && upper > 1.0 ? 1.0 : upper;
}
static inline void bound_costs(i64 d, double *restrict lower, const double *restrict totals, i64 count, double reach, double gamma, i64 clip)
{
    const double n = (double)count + 1.0;
    for (i64 j = 0; j < d; j++) {
        const double mean = totals[j] / n, least = mean - width(mean, n, reach, gamma);
        lower[j] = clip && !(least > 0.0) ? 0.0 : least;
    }
}

#endif
