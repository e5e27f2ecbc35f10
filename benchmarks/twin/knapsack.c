/* The plain C twin of sliding-window UCB with budgets: same algorithm, order of operations and random numbers as
 * driftwise's kernels. Choices, rewards and what is left agree bit for bit.
 *
 * Built together with twin.c, with the same flags.
 */
#include "budgets.h"

enum { PATIENCE = 30 };
static const double ZERO = 1e-12;

/* ---- the linear program: one resource by turning its price, more by a dense simplex ---- */

typedef struct {
    double *table, *budget, *mix;              /* (resources + 2) x (arms + resources + 2), resources, arms */
    i64 *basis;                                /* resources + 1 */
} Program;

static inline i64 best_at(i64 m, const double *restrict rewards, const double *restrict costs, double price)
{
    i64 best = -1;
    double top = 0.0;
    for (i64 k = 0; k < m; k++) {
        const double worth = rewards[k] - price * costs[k];
        if (worth > top) { top = worth; best = k; }
    }
    return best;
}
static void one_resource(i64 m, const double *restrict rewards, const double *restrict costs, double budget, double *restrict mix)
{
    memset(mix, 0, m * sizeof *mix);
    i64 rich = best_at(m, rewards, costs, 0.0), lean = -1;
    double lean_reward = 0.0, lean_cost = 0.0;
    if (rich < 0) return;
    if (costs[rich] <= budget) { mix[rich] = 1.0; return; }
    for (;;) {
        const double price = (rewards[rich] - lean_reward) / (costs[rich] - lean_cost), level = lean_reward - price * lean_cost;
        const i64 better = best_at(m, rewards, costs, price);
        if (better < 0 || better == rich || better == lean) break;
        if (rewards[better] - price * costs[better] <= level + ZERO * (1.0 + fabs(level))) break;
        if (costs[better] > budget) rich = better;
        else { lean = better; lean_reward = rewards[better]; lean_cost = costs[better]; }
    }
    mix[rich] = (budget - lean_cost) / (costs[rich] - lean_cost);
    if (lean >= 0) mix[lean] = 1.0 - mix[rich];
}
static inline i64 entering(i64 n, const double *restrict gains, int first)
{
    double least[4] = {-ZERO, -ZERO, -ZERO, -ZERO}; /* four lanes: in one, each minimum would wait for the one before */
    i64 in = 0, i = 0;
    if (first) {
        while (in < n && !(gains[in] < -ZERO)) in++;
        return in < n ? in : -1;
    }
    for (; i + 4 <= n; i += 4) for (int k = 0; k < 4; k++) least[k] = gains[i + k] < least[k] ? gains[i + k] : least[k];
    for (; i < n; i++) least[0] = gains[i] < least[0] ? gains[i] : least[0];
    for (int k = 1; k < 4; k++) least[0] = least[k] < least[0] ? least[k] : least[0];
    if (least[0] == -ZERO) return -1;
    while (gains[in] != least[0]) in++;
    return in;
}
static inline i64 leaving(i64 rows, i64 wide, const double *restrict table, const i64 *restrict basis, i64 in)
{
    i64 best = -1;
    double least = INFINITY;
    for (i64 i = 0; i < rows; i++) {
        const double *restrict row = table + i * wide;
        if (!(row[in] > ZERO)) continue;
        const double ratio = row[wide - 1] / row[in];
        if (ratio < least || (ratio == least && basis[i] < basis[best])) { least = ratio; best = i; }
    }
    return best;
}
static inline void pivot(i64 rows, i64 wide, double *table, i64 out, i64 in)
{
    double *restrict own = table + out * wide;
    const double scale = 1.0 / own[in];
    for (i64 c = 0; c < wide; c++) own[c] *= scale;
    for (i64 i = 0; i <= rows; i++) {
        double *restrict row = table + i * wide;
        const double weight = row[in];
        if (i == out || weight == 0.0) continue;
        for (i64 c = 0; c < wide; c++) row[c] -= weight * own[c];
        row[in] = 0.0;
    }
    for (i64 i = 0; i < rows; i++) if (table[i * wide + wide - 1] < 0.0) table[i * wide + wide - 1] = 0.0;
}
static void simplex(const Program *lp, i64 m, i64 d, const double *restrict rewards, const double *restrict costs)
{
    const i64 wide = m + d + 2;
    double *table = lp->table, *gains = table + (d + 1) * wide;
    memset(table, 0, (d + 2) * wide * sizeof *table);
    for (i64 k = 0; k < m; k++) {
        for (i64 j = 0; j < d; j++) table[j * wide + k] = costs[k * d + j];
        table[d * wide + k] = 1.0;
        gains[k] = -rewards[k];
    }
    for (i64 j = 0; j <= d; j++) {
        table[j * wide + m + j] = 1.0;
        table[j * wide + wide - 1] = j < d ? lp->budget[j] : 1.0;
        lp->basis[j] = m + j;
    }
    for (i64 idle = 0;;) {
        const i64 in = entering(wide - 1, gains, idle >= PATIENCE);
        if (in < 0) break;
        const i64 out = leaving(d + 1, wide, table, lp->basis, in);
        idle = table[out * wide + wide - 1] <= ZERO ? idle + 1 : 0;
        pivot(d + 1, wide, table, out, in);
        lp->basis[out] = in;
    }
    memset(lp->mix, 0, m * sizeof *lp->mix);
    for (i64 j = 0; j <= d; j++) if (lp->basis[j] < m) lp->mix[lp->basis[j]] = table[j * wide + wide - 1];
}
static inline i64 draw_from(i64 m, const double *restrict mix, u64 rng)
{
    double u = uniform(&rng);
    for (i64 k = 0; k < m; k++) {
        if (u < mix[k]) return k;
        u -= mix[k];
    }
    return -1;
}

/* in place of an arm that neither view holds, where arms are too many for the ring: the one tried longest ago */
static inline i64 tried_before(const Window *w, i64 arm)
{
    i64 first = arm;
    if (arm < 0 || w->arms <= w->room || w->counts[2 * arm] || w->counts[2 * arm + 1]) return arm;
    for (i64 k = 0; k < w->arms; k++)
        if (w->left[k] < w->left[first] && !w->counts[2 * k] && !w->counts[2 * k + 1]) first = k;
    return first;
}

/* ---- sliding-window UCB with budgets ---- */

typedef struct {
    i64 sizes[2], clip, resolve;
    double reaches[2], gammas[2], share, unit;
    const double *rates;
} Knapsack;

/* how many rounds were played */
i64 sliding_knapsack_ucb(const Knapsack *law, const World *world, u64 seed, i64 *actions, double *rewards)
{
    const i64 m = world->arms, d = world->resources;
    const double *rates = law->resolve ? world->rates : law->rates;
    Window w = new_window(m, d, 2, law->sizes);
    double *upper = calloc(m, sizeof *upper), *lower = calloc(m * d, sizeof *lower);
    Program lp = {calloc((d + 2) * (m + d + 2), sizeof(double)), calloc(d, sizeof(double)), calloc(m, sizeof(double)),
                  calloc(d + 1, sizeof(i64))};
    i64 t = 0;
#define REFRESH(k) do { const i64 k_ = (k), *n_ = w.counts + 2 * k_; \
        upper[k_] = bound_reward(w.sums[2 * k_], n_[0], law->reaches[0], law->gammas[0], law->clip); \
        bound_costs(d, lower + k_ * d, w.spent + (2 * k_ + 1) * d, n_[1], law->reaches[1], law->gammas[1], law->clip); } while (0)
    for (i64 k = 0; k < m; k++) REFRESH(k);
    for (; t < world->rounds && look(world, t); t++) {
        for (i64 j = 0; j < d; j++) lp.budget[j] = law->share * rates[j];
        if (d == 1) one_resource(m, upper, lower, lp.budget[0], lp.mix);
        else simplex(&lp, m, d, upper, lower);
        const i64 arm = tried_before(&w, draw_from(m, lp.mix, stream(seed, t)));
        const double reward = respond(world, t, arm);
        for (i64 i = 0, n = turn(&w, t); i < n; i++) REFRESH(w.changed[i]);
        if (arm >= 0) {
            enter(&w, arm, reward / law->unit, world->paid);
            REFRESH(arm);
        }
        actions[t] = arm;
        rewards[t] = reward;
    }
#undef REFRESH
    free_window(&w);
    free(upper); free(lower); free(lp.table); free(lp.budget); free(lp.mix); free(lp.basis);
    return t;
}
