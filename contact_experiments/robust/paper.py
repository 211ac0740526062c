"""The chance-constraint paper: its figures, and its numbers beside ours."""

from contact_experiments.papers.figure import Claim, Paper, PaperFigure
from contact_experiments.robust.films import film_4d, film_6a
from contact_experiments.robust.paper_figures import (
    figure_2,
    figure_3,
    figure_3_physical,
    figure_4,
    figure_4d,
    figure_5a,
    figure_5a_physical,
    figure_5b,
    figure_6a,
    figure_6bc,
    figure_7,
)

SIGN = "The paper's errors are goal minus position, ours position minus goal."
# What is said of the authors' plans was computed from those in their repository.
RANGE = "Only two of the authors' five plans are solved; all of ours are the same within 0.1 mm/s."
STARTS = "Local minima: ours start at once, the authors' at 0.08 to 0.37 s."
EARLIER = "Local minima: ours starts at 0.22 s, the authors' at 0.27 s, and costs 0.4 % more."
JUMPS = (
    "The authors' plan costs 2.6e6, ours 4.1e5: a point with a force costs alpha "
    "(10 N/m sigma)^2 = 25000 a knot, so that a few jumps cost least."
)
SHUFFLES = "Ours shuffles, which costs 102; the authors' hops (0.19 m), which costs 149."
COINCIDE = (
    "Of every sigma all plans but that under theta 0.51 lie on each other. The search for each "
    "begins at the plan under theta 0.6, of which no force acts as high over the mean ground as "
    "this bound allows; a larger theta allows more, and changes nothing."
)
FLIES = (
    "The reference knows its ground, and crosses it in low hops. Where the ground may as well be "
    "half a metre higher or lower, the expected residual charges 25000 for every knot in which toe "
    "or heel pushes, however hard, and nothing in the air. So the plans below push rarely and "
    "hard, up to 10 kN for 30 ms, and between these four pushes the foot flies up to 4 m high, "
    "with the leg upside down. That is cheap by this cost, and no motion for a robot. The chance "
    "constraint does not change it: no force acts as high over the mean ground as theta 0.6 "
    "allows."
)
PHYSICAL = (
    "In our default mode: the slip is scaled before it is compared with a force, and the cone's "
    "deviation grows with the normal force."
)

FIGURES = {
    "2": PaperFigure(
        "push and friction of the sliding block, for every risk bound",
        figure_2,
        minutes=3.0,
        claims=(
            Claim("reference: friction while sliding [N]", "-4.9", "reference.friction_N", ".2f"),
            Claim(
                "chance constraints alone, sigma 0.1: largest change of the push [N]",
                "nearly none", "chance_alone_10.control_N", ".2g", "Of a push of up to 35 N.",
            ),
            Claim("ERM, sigma 1: friction [N]", "0", "erm_1", "z.2f"),
            Claim("ERM + chance 0.51, sigma 1: friction [N]", "towards -4.9", "chance_51", ".2f"),
            Claim("ERM + chance 0.9, sigma 1: friction [N]", "smaller", "chance_90", ".2f"),
        ),
    ),
    "3": PaperFigure(
        "feasibility against robustness of the block",
        figure_3,
        minutes=0.1,
        claims=(
            Claim("reference: cost", "", "reference.cost", ".2f"),
            Claim("reference: largest speed [m/s]", "", "reference.max_speed", ".2f"),
            Claim(
                "range of the largest speed over risk bounds, sigma 0.01 [m/s]", "0.02",
                "speed_range_1", ".2f", RANGE,
            ),
            Claim("the same, sigma 0.3 [m/s]", "1.73", "speed_range_30", ".2f", STARTS),
            Claim("ERM, sigma 1: speed [m/s]", "5", "erm_speed_1", ".2f"),
            Claim("plans that are solved", "some are missing", "solved"),
        ),
    ),
    "3 physical": PaperFigure(
        "the same in the physical mode", figure_3_physical, minutes=3.5, note=PHYSICAL
    ),
    "4": PaperFigure("motions of the block under four frictions", figure_4, minutes=0.1),
    "4d": PaperFigure("where the block comes to rest", figure_4d, minutes=0.1, film=film_4d),
    "5a": PaperFigure(
        "final errors of the block over sigma",
        figure_5a,
        minutes=0.1,
        claims=(
            Claim("reference: range [m]", "", "reference.range", ".3f"),
            Claim("ERM, sigma 0.1: mean error [m]", "0.04", "erm_10.mean", ".3f", SIGN),
            Claim("ERM, sigma 0.1: range [m]", "0.44", "erm_10.range", ".3f"),
            Claim(
                "ERM + chance 0.7, sigma 0.1: mean [m]", "-0.03", "chance_10.mean", ".3f",
                f"{SIGN} {EARLIER}",
            ),
            Claim(
                "ERM + chance 0.7, sigma 0.1: range [m]", "0.61", "chance_10.range", ".3f", EARLIER
            ),
            Claim("ERM, sigma 1: mean [m]", "2.41", "erm_100.mean", ".3f", SIGN),
            Claim("ERM + chance 0.7, sigma 1: mean [m]", "0.26", "chance_100.mean", ".3f", SIGN),
        ),
    ),
    "5a physical": PaperFigure(
        "the same in the physical mode",
        figure_5a_physical,
        minutes=0.1,
        claims=(
            Claim("ERM, sigma 1: mean [m]", "", "erm_100.mean", ".3f"),
            Claim("ERM, sigma 1: range [m]", "", "erm_100.range", ".3f"),
        ),
        note=PHYSICAL,
    ),
    "5b": PaperFigure(
        "final errors of the block over the risk bounds, sigma 1",
        figure_5b,
        minutes=0.2,
        note="The curves of all beta lie on each other.",
        claims=(
            Claim("theta 0.51, over beta: mean [m]", "0.01", "theta_51.mean", ".3f", SIGN),
            Claim("theta 0.7, over beta: mean [m]", "0.26", "theta_70.mean", ".3f", SIGN),
            Claim("theta 0.9, over beta: mean [m]", "0.65", "theta_90.mean", ".3f", SIGN),
        ),
    ),
    "6a": PaperFigure(
        "the hopper's motion, sigma 0.5 m", figure_6a, minutes=8.0, note=FLIES, film=film_6a
    ),
    "6bc": PaperFigure(
        "height and force of the hopper's foot", figure_6bc, minutes=1.5, note=COINCIDE
    ),
    "7": PaperFigure(
        "feasibility against robustness of the hopper",
        figure_7,
        minutes=5.0,
        claims=(
            Claim(
                "ERM, sigma 0.5 m: mean height of the foot [m]", "0.46", "erm_highest", ".2f",
                JUMPS,
            ),
            Claim(
                "reference: mean height of the foot [m]", "", "reference.foot_height_m", ".3f",
                SHUFFLES,
            ),
            Claim("reference: cost", "", "reference.cost", ".1f"),
            Claim("plans that are solved", "some are missing", "solved"),
        ),
        note=COINCIDE,
    ),
}  # fmt: skip

PAPER = Paper(
    "Mediating between Contact Feasibility and Robustness of Trajectory Optimization through "
    "Chance Complementarity Constraints",
    FIGURES,
    {"Fig. 1": "drawings that explain the examples and the distribution."},
)
