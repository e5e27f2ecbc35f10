/* The plain C twin of prequential windows with prices that pace: same algorithm and order of operations as driftwise's
 * kernels. Choices, rewards and what is left agree bit for bit.
 *
 * Built together with twin.c, with the same flags.
 */
#include "budgets.h"

enum { MOST_VIEWS = 64 };

typedef struct {
    i64 views;
    const i64 *sizes;
    const double *reaches, *limits;
    double fade, share, step, unit;
} Pacing;

/* how many rounds were played */
i64 prequential_pacing(const Pacing *law, const World *world, i64 *actions, double *rewards)
{
    const i64 m = world->arms, d = world->resources, views = law->views;
    const double pooled_fade = sqrt(law->fade);
    Window w = new_window(m, d, views, law->sizes);
    double *upper = calloc(m, sizeof *upper), *lower = calloc(m * d, sizeof *lower), *prices = calloc(d, sizeof *prices);
    double *errors = calloc(m * views, sizeof *errors), pooled[MOST_VIEWS] = {0}, others[MOST_VIEWS];
    i64 *used = malloc(m * sizeof *used), t = 0;
#define REFRESH(k) do { const i64 k_ = (k), cell_ = k_ * views + used[k_]; const double reach_ = law->reaches[used[k_]]; \
        upper[k_] = bound_reward(w.sums[cell_], w.counts[cell_], reach_, 0.0, 1); \
        bound_costs(d, lower + k_ * d, w.spent + cell_ * d, w.counts[cell_], reach_, 0.0, 1); } while (0)
    for (i64 k = 0; k < m; k++) { used[k] = views - 1; REFRESH(k); }
    for (; t < world->rounds && look(world, t); t++) {
        i64 arm = -1;
        double top = 0.0;
        for (i64 k = 0; k < m; k++) {
            double worth = upper[k];
            for (i64 j = 0; j < d; j++) worth -= prices[j] * lower[k * d + j];
            if (worth > top) { top = worth; arm = k; }
        }
        const double reward = respond(world, t, arm), share = reward / law->unit, *restrict paid = world->paid;
        for (i64 i = 0, n = turn(&w, t); i < n; i++) REFRESH(w.changed[i]);
        if (arm >= 0) {
            for (i64 v = 0; v < views; v++) { /* every window is charged for what it would have said */
                const i64 cell = arm * views + v;
                const double n = (double)w.counts[cell] + 1.0, *restrict spent = w.spent + cell * d;
                double miss = share - (w.sums[cell] + 0.5) / n, error = miss * miss;
                for (i64 j = 0; j < d; j++) {
                    miss = paid[j] - (spent[j] + 0.5) / n;
                    error += miss * miss;
                }
                errors[cell] = law->fade * errors[cell] + error;
                pooled[v] = pooled_fade * pooled[v] + error;
                others[v] = law->share * pooled[v];
            }
            for (i64 k = 0; k < m; k++) { /* and every arm takes the best for it */
                i64 best = 0;
                double least = INFINITY;
                for (i64 v = 0; v < views; v++) {
                    const double error = errors[k * views + v] + others[v];
                    if (error <= least) { least = error; best = v; }
                }
                if (best != used[k]) { used[k] = best; REFRESH(k); }
            }
            enter(&w, arm, share, paid);
            REFRESH(arm);
        }
        for (i64 j = 0; j < d; j++) {
            const double price = prices[j] - law->step * (world->rates[j] - paid[j]), above = price > 0.0 ? price : 0.0;
            prices[j] = above < law->limits[j] ? above : law->limits[j];
        }
        actions[t] = arm;
        rewards[t] = reward;
    }
#undef REFRESH
    free_window(&w);
    free(upper); free(lower); free(prices); free(errors); free(used);
    return t;
}
