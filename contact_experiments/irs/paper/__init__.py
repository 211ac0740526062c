"""The figures of the paper bundled_gradients: each function plans, draws, and returns numbers."""

from contact_experiments.irs.contact_figures import figure_5, figure_7, figure_8
from contact_experiments.irs.paper.films import film_1
from contact_experiments.irs.paper.orders import section_vi_e
from contact_experiments.irs.paper.plans import figure_1, figure_9
from contact_experiments.irs.smoothing_figures import figure_2, figure_3, figure_4
from contact_experiments.papers.figure import Claim, Paper, PaperFigure

FIGURES = {
    "1": PaperFigure(
        "plans with exact gradients and with the gradient bundle",
        figure_1,
        minutes=0.5,
        claims=(
            Claim("planar pushing, exact: distance left [m]", "", "pushing.exact.distance_left_m"),
            Claim("the same, bundled", "", "pushing.bundled.distance_left_m"),
            Claim(
                "box pivoting, exact: angle left [deg]", "", "pivoting.exact.angle_left_deg", ".1f",
            ),
            Claim("the same, bundled", "", "pivoting.bundled.angle_left_deg", ".1f"),
            Claim("plate pickup, exact: distance left [m]", "", "plate.exact.distance_left_m"),
            Claim("the same, bundled", "", "plate.bundled.distance_left_m"),
        ),
        note="The robot is red, the object green, the goal dashed. Best iterates, seed 0.",
        film=film_1,
    ),
    "2": PaperFigure(
        "a function with many local minima, bundled",
        figure_2,
        minutes=0.1,
        claims=(
            Claim("local minima of f", "many", "minima.objective", "d"),
            Claim("of the bundled objective, first order", "1", "minima.first_order", ".0f"),
            Claim("of the bundled objective, zero order", "1", "minima.zero_order", ".0f"),
            Claim("largest error of the first order", "", "first_order_error"),
            Claim("largest error of the zero order", "", "zero_order_error"),
        ),
    ),
    "3": PaperFigure(
        "the Heaviside function, bundled: first-order samples miss the jump",
        figure_3,
        minutes=0.1,
        claims=(
            Claim("slope at the jump, first order", "0", "slope_at_the_jump.first_order"),
            Claim("slope at the jump, zero order", "", "slope_at_the_jump.zero_order"),
            Claim("slope of the bundled objective", "", "slope_at_the_jump.closed_form"),
        ),
        note=(
            "The zero order is the least-squares slope (16): the mean of (5) has infinite "
            "variance at a jump."
        ),
    ),
    "4": PaperFigure(
        "few first-order samples give quantised gradients",
        figure_4,
        minutes=0.1,
        claims=(
            Claim("slopes at 401 points, first order", "", "distinct_slopes.first_order", ".0f"),
            Claim("slopes at 401 points, zero order", "", "distinct_slopes.zero_order", ".0f"),
        ),
        note="As printed, (10) jumps at 0; the picture and the text are those of |x| - 1.",
    ),
    "5": PaperFigure(
        "normal contact in one dimension, exact and bundled",
        figure_5,
        minutes=0.1,
        claims=(
            Claim("slope 5 cm before contact, exact", "0", "exact.slope_5_cm_before"),
            Claim("the same, bundled", "> 0", "bundled.slope_5_cm_before"),
            Claim("slope in contact, exact: 1 / (1 + c), c = 1", "0.5", "exact.slope_in_contact"),
        ),
    ),
    "7": PaperFigure(
        "exact Coulomb friction and Anitescu's relaxation, exact and bundled",
        figure_7,
        minutes=0.1,
        claims=(
            Claim("the models differ by at most, exact [m]", "", "largest_difference_m.exact"),
            Claim("the same, bundled [m]", "", "largest_difference_m.bundled"),
            Claim(
                "mean motion of the box while the sphere leaves, Coulomb [m]", "0",
                "mean_motion_when_leaving_m.Coulomb.exact",
            ),
            Claim("the same, bundled [m]", "> 0", "mean_motion_when_leaving_m.Coulomb.bundled"),
        ),
    ),
    "8": PaperFigure(
        "penalty friction with the Stribeck effect, exact and bundled",
        figure_8,
        minutes=0.1,
        claims=(
            Claim("largest jump over 7 mm/s of speed, exact [N]", "", "exact.largest_jump_n"),
            Claim("the same, bundled [N]", "", "bundled.largest_jump_n"),
            Claim("force at a distance of 5 mm, exact [N]", "0", "exact.largest_force_at_5_mm_n"),
            Claim("the same, bundled [N]", "> 0", "bundled.largest_force_at_5_mm_n"),
        ),
    ),
    "9": PaperFigure(
        "cost against iteration, with exact gradients and in every smoothing mode",
        figure_9,
        minutes=2.5,
        claims=(
            Claim("pendulum, exact (authors' code: 357.297)", "", "pendulum.exact.best", ".3f"),
            Claim("pendulum, first order (357.462)", "", "pendulum.first.best", ".3f"),
            Claim("pendulum, zero order (357.452)", "", "pendulum.zero.best", ".3f"),
            Claim("Dubins' car, easy, exact (663.7)", "", "dubins_easy.exact.best", ".1f"),
            Claim("Dubins' car, hard, exact (1660.3)", "", "dubins_hard.exact.best", ".1f"),
            Claim("Dubins' car, hard, first order (778.8)", "", "dubins_hard.first.best", ".1f"),
            Claim(
                "Dubins' car, hard, zero order, 100 samples (780.9)", "",
                "dubins_hard.zero.best", ".1f",
                "The authors' script takes 10000 samples here, not the 100 of the text.",
            ),
            Claim(
                "the same with 3000 samples", "", "dubins_hard.zero_many.best", ".1f",
            ),
            Claim("quadrotor, exact, iterate 1 (3411.400)", "", "quadrotor.exact.first", ".3f"),
            Claim("quadrotor, exact, best (3360.296)", "", "quadrotor.exact.best", ".3f"),
            Claim("quadrotor, first order, best (3359.749)", "", "quadrotor.first.best", ".1f"),
            Claim(
                "quadrotor, zero order, best (3379.407)", "", "quadrotor.zero.best", ".1f",
                "The authors' script takes 1000 samples here, not the 100 of the text.",
            ),
            Claim(
                "planar hand, exact, best (13.866)", "", "hand.exact.best", ".3f",
                "At the first knot our derivatives equal finite differences and the authors' do "
                "not; their descent goes further and then becomes unstable.",
            ),
            Claim(
                "planar hand, exact, last (61.176)", "", "hand.exact.final", ".3f", "Likewise.",
            ),
            Claim("planar hand, first order, best (11.159)", "", "hand.first.best", ".3f"),
            Claim("planar hand, zero order, best (11.199)", "", "hand.zero.best", ".3f"),
            Claim("planar pushing, exact: flat (134.413)", "", "pushing.exact.best", ".3f"),
            Claim("planar pushing, first order (<= 33.4)", "", "pushing.first.best", ".2f"),
            Claim("planar pushing, zero order (<= 33.4)", "", "pushing.zero.best", ".2f"),
            Claim("box pivoting, exact: flat (15404.422)", "", "pivoting.exact.best", ".3f"),
            Claim(
                "box pivoting, first order (2879)", "", "pivoting.first.best", ".0f",
                "The settings of the recorded run are not published: the script begins in contact.",
            ),
            Claim("box pivoting, zero order (2455)", "", "pivoting.zero.best", ".0f", "Likewise."),
            Claim("plate pickup, first order", "", "plate.first.best", ".0f"),
            Claim("plate pickup, zero order", "", "plate.zero.best", ".0f"),
        ),
        note=(
            "The paper prints no numbers; those in parentheses are what the authors' code at "
            "github.com/hjsuh94/irs_lqr recorded. 100 samples; medians and bands from the lowest "
            "to the highest of 5 seeds. Log barriers are not in the paper."
        ),
    ),
    "VI-E": PaperFigure(
        "time of an iteration with quasi-dynamic and with second-order dynamics",
        section_vi_e,
        minutes=5.0,
        claims=(
            Claim(
                "second order relative to quasi-dynamic, zero order", "36", "zero.ratio", ".0f",
                "Our quasi-dynamic step is compiled and our second-order one is TAMSI instead of "
                "a penalty method, both with steps of 1 ms.",
            ),
            Claim("the same, exact gradients", "36", "exact.ratio", ".0f", "Likewise."),
            Claim("an iteration, quasi-dynamic, zero order [s]", "", "zero.quasi_dynamic_s"),
            Claim("an iteration, second order, zero order [s]", "", "zero.second_order_s"),
            Claim("cost, second order, exact: flat", "", "exact.second_order_best", ".2f"),
            Claim("cost, second order, zero order", "", "zero.second_order_best", ".2f"),
        ),
        note=(
            "The push of Fig. 9. The first-order bundle would differentiate every sample through "
            "100 steps of the simulator, minutes for an iteration, and is left out."
        ),
    ),
}  # fmt: skip

PAPER = Paper(
    "Bundled Gradients through Contact via Randomized Smoothing",
    FIGURES,
    {"Fig. 6": "a drawing of the system of Fig. 7."},
)
