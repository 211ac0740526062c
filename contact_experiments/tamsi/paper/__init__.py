"""The figures of the TAMSI paper: each function runs a study, draws it and returns its numbers."""

from contact_experiments.papers.figure import Claim, Paper, PaperFigure
from contact_experiments.tamsi.paper.box_figures import figure_4, figure_5
from contact_experiments.tamsi.paper.films import film_9
from contact_experiments.tamsi.paper.gripper_figures import figure_6, figure_8
from contact_experiments.tamsi.paper.hand_figure import figure_9
from contact_experiments.tamsi.paper.moving_configuration import section_iv_b
from contact_experiments.tamsi.paper.speed import figure_7

MACHINE = "The paper's times are those of an Intel i7-6900K of 2016 and of C++."
OTHER_CODE = (
    "Our implicit Euler is compiled like TAMSI, takes only the derivatives it needs, and steps "
    "what fails again at half the step."
)

RANGE = "With the longest step, the window of 25 ms, the error is 8 mm/s: nothing is beyond."

FIGURES = {
    "4": PaperFigure(
        "Newton's residuals at the box's first transition into stiction",
        figure_4,
        minutes=0.1,
        claims=(
            Claim("start of that step [s]", "0.160", "ie_fn.time_s", ".3f"),
            Claim("without TALS: converges", "no", "ie_fn.converged", ""),
            Claim("with TALS: converges", "yes", "ie_fn_tals.converged", ""),
            Claim("without TALS: first residuals [Ns]", "", "ie_fn.first_residuals"),
            Claim("with TALS: first residuals [Ns]", "", "ie_fn_tals.first_residuals"),
        ),
    ),
    "5": PaperFigure(
        "work against precision of implicit Euler, with and without TALS",
        figure_5,
        minutes=1.0,
        claims=(
            Claim(
                "full Newton, error control: TALS extends the range of first order, times", "10",
                "gain.ie_fn_ec.range", ".1f", RANGE,
            ),
            Claim("full Newton, fixed steps", "10", "gain.ie_fn.range", ".1f", RANGE),
            Claim("quasi Newton, error control", "3", "gain.ie_qn_ec.range", ".1f"),
            Claim("quasi Newton, fixed steps", "3", "gain.ie_qn.range", ".1f"),
            Claim("full Newton: work that TALS saves at best", "", "gain.ie_fn.ratio", ".1f"),
            Claim("quasi Newton: work that TALS saves at best", "", "gain.ie_qn.ratio", ".1f"),
        ),
        note="The reference is integrated with the paper's step of 1e-7 s.",
    ),
    "6": PaperFigure(
        "the gripper that shakes a mug, at steps and stiffnesses the paper does not show",
        figure_6,
        minutes=0.5,
        claims=(
            Claim("TAMSI: runs that hold the mug, of 55", "", "tamsi.held", "d"),
            Claim("TAMSI: runs with a failed step", "", "tamsi.failed", "d"),
            Claim("one-way coupled: runs that hold the mug", "", "semi_implicit.held", "d"),
            Claim("one-way coupled: runs with a failed step", "", "semi_implicit.failed", "d"),
        ),
        note="The paper draws the model; here the study that its caption promises, robustness.",
    ),
    "7": PaperFigure(
        "simulated time against CPU time, with the shaken gripper",
        figure_7,
        minutes=0.5,
        claims=(
            Claim(
                "TAMSI, stiff pads [x real time]", "40", "stiff.tamsi_real_time_rate", ".0f",
                MACHINE,
            ),
            Claim(
                "implicit Euler with TALS [x TAMSI]", "25", "stiff.ratios.ie_fn_tals", ".1f",
                OTHER_CODE,
            ),
            Claim(
                "implicit Euler without TALS [x TAMSI]", "55", "stiff.ratios.ie_fn", ".1f",
                OTHER_CODE,
            ),
            Claim("the same with TALS, soft pads", "", "soft.ratios.ie_fn_tals", ".1f"),
            Claim("the same without TALS, soft pads", "", "soft.ratios.ie_fn", ".1f"),
        ),
        note="Five rounds, each integrator in turn: median, lowest and highest.",
    ),
    "8": PaperFigure(
        "velocity errors of TAMSI against its step",
        figure_8,
        minutes=2.5,
        claims=(
            Claim("order, translations, stiff pads", "1", "stiff.translation_slope", ".3f"),
            Claim("order, rotations, stiff pads", "1", "stiff.rotation_slope", ".3f"),
            Claim("order, translations, soft pads", "1", "soft.translation_slope", ".3f"),
            Claim("order, rotations, soft pads", "1", "soft.rotation_slope", ".3f"),
        ),
        note="The reference is TAMSI itself at the paper's step of 1e-7 s.",
    ),
    "9": PaperFigure(
        "an Allegro hand turns a mug to and fro",
        figure_9,
        minutes=3.0,
        claims=(
            Claim("TAMSI, h 0.7 ms [x real time]", "2.14", "tamsi_real_time_rate", ".1f", MACHINE),
            Claim(
                "error-controlled quasi Newton, a 0.01 m/s [x TAMSI]", "7.8",
                "ratios.700 us.ie_qn_ec", ".1f", OTHER_CODE,
            ),
            Claim("the same, steps up to 5 ms", "", "ratios.5000 us.ie_qn_ec", ".1f"),
            Claim("the same with TALS [x TAMSI]", "no gain", "ratios.700 us.ie_qn_ec_tals", ".1f"),
            Claim("swing of the mug in a period [deg]", "", "swings_deg", ".0f"),
            Claim("fingers that touch it at any time", "", "fingers", "d"),
        ),
        note="The paper does not give the motion: the hand's is ours, periodic and open loop.",
        film=film_9,
    ),
    "IV-B": PaperFigure(
        "what TALS gives implicit Euler when the contacts' tangent spaces turn",
        section_iv_b,
        minutes=1.0,
        claims=(
            Claim("spinning mug: landings that miss stiction", "", "spinning mug.missed"),
            Claim("spinning mug: work without TALS, relative", "", "spinning mug.gain", ".1f"),
        ),
        note="The paper states this in words: TALS degrades as the configuration changes.",
    ),
}  # fmt: skip

PAPER = Paper(
    "A Transition-Aware Method for the Simulation of Compliant Contact with Regularized Friction",
    FIGURES,
    {
        "Fig. 1 and Sec. VI-C, the real arm": (
            "`contact-stack demo bottle_shake` shakes a bottle with the iiwa and the gripper in "
            "simulation; there is no arm here to compare with."
        ),
        "Fig. 2 and 3": "drawings that explain the line search.",
    },
)
