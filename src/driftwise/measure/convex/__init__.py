"""Points under constraints, looked back at.

past        all that points were asked for: recorded, or Python functions of your own
hindsight   the best fixed point, OPT and OPT'      (`program` finds it, `prices` prove it)
best_point  what a study holds runs against
regrets     what a run lost and overdrew, Reg1 and Reg2, and how far constraints wandered, W
"""
