"""The first screen of the page: what was printed, what comes out, what does not and why, what to use."""

from driftwise.study.printed import PaperAnswer

ANSWER = PaperAnswer(
    printed=(
        "Theorems, no experiments. With budgets, V (how far means move) does not tell how hard a problem is; W (how "
        "far they stray from their mean) must be added. Algorithm 1, which knows V, loses no more than about T^(2/3) "
        "V^(1/3) + W (Theorem 1, with another radius Theorem 4), and nobody loses less in the worst case (Theorem "
        "2). For points under constraints Algorithm 2 loses O(sqrt(T)) + q W and overdraws O(d sqrt(T)) (Theorem 3). "
        "{statements} statements are judged here, with runs and with linear programs."
    ),
    comes_out=(
        "{matches} of them hold as printed. Lemmas 1 to 3 and 6 to 10, Corollary 1 with its constants and "
        "Propositions 2 and 3 hold wherever they say something. Nobody escapes W: where section 2.1 says that "
        "{section-2.1/delta=0.1/inevitable|paper} must be lost, the best of seven players loses "
        "{section-2.1/delta=0.1/inevitable}. In the lower bounds the least loss grows as T^{theorem-2-i/T/least} and "
        "V^{theorem-2-i/V/least}; so does that of uniform play, and Algorithm 1 as printed loses "
        "{theorem-2-i/blind/share} of what uniform play loses: these instances show how hard the problem is, not how "
        "good the algorithm."
    ),
    does_not=(
        "{known-deviation} deviate for a known reason, {inconclusive} are not settled and {not-judged} say nothing at "
        "any T that can be played. As printed, Algorithm 1 explores: up to T = 10^6 its regret grows as "
        "T^{theorem-1/T/rotating/d=1/paper} with one resource and T^{theorem-1/T/rotating/d=2/paper} with two, where "
        "2/3 is the limit; with a quarter of its radius as T^{theorem-1/T/rotating/d=1/quarter} and "
        "T^{theorem-1/T/rotating/d=2/quarter}. The bound of Theorem 1 is below T from {theorem-1/speaks/stationary} "
        "rounds on, if nothing drifts. The middle inequality of Proposition 1 and Claims 1 and 2 are false; the "
        "outer inequality repairs the proof of Theorem 1. Algorithm 2's alpha and beta are upside down: as printed "
        "Reg1 grows as T^{theorem-3/Reg1/linear/printed}."
    ),
    use=(
        "prequential-pacing, which is not in the paper, knows nothing of the drift and has no proof: it collects "
        "{what-to-use/share} of the best plan on average over four worlds that drift, "
        "{what-to-use/ahead/Algorithm-1} more than Algorithm 1 as printed. For points, virtual-queue with alpha = T "
        "and beta = sqrt(T), its default."
    ),
)
