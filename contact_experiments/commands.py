"""The commands that the evidence adds to the command line."""

from __future__ import annotations

from contact_stack.commands import Command, Group

EXPERIMENTS = "experiments"
"""The extra with what they need."""

FAKE = Command(
    "contact_experiments.fake.command", "stand in for a driver, and misbehave on request"
)

PAPER = Command(
    "contact_experiments.papers.command", "make the figures of the papers again", EXPERIMENTS
)

BENCHMARKS = Group(
    "measure speed and accuracy",
    {
        "accuracy": Command(
            "contact_experiments.bench.accuracy",
            "error of the simulator over CPU time, beside Drake's CENIC and MuJoCo",
            EXPERIMENTS,
        ),
        "contacts": Command(
            "contact_experiments.bench.contacts",
            "accuracy, honesty and speed of the contact estimator",
            EXPERIMENTS,
        ),
        "control": Command(
            "contact_experiments.bench.control",
            "QP solvers, the controller's tick, and the loop's timing",
            EXPERIMENTS,
        ),
        "creep": Command(
            "contact_experiments.bench.creep",
            "how fast what is held moves under a constant load, beside Drake and MuJoCo",
            EXPERIMENTS,
        ),
        "encounters": Command(
            "contact_experiments.bench.encounters",
            "hands and edges meet an arm that is not as described: felt, told, pressed",
        ),
        "faults": Command(
            "contact_experiments.bench.faults",
            "every fault of a robot and its driver, and what it does to the arm",
        ),
        "fri": Command(
            "contact_experiments.bench.fri",
            "how soon the driver fri answers a robot, beside busy programs",
        ),
        "graph": Command(
            "contact_experiments.bench.graph",
            "the whole graph in real time: missed ticks, age of the state, processor time",
        ),
        "irs": Command(
            "contact_experiments.bench.irs",
            "every example of the planner through contact, in every mode",
            EXPERIMENTS,
        ),
        "looks": Command(
            "contact_experiments.bench.looks",
            "moving objects on the graph: how old what is acted on is, at every look",
        ),
        "models": Command(
            "contact_experiments.bench.models",
            "public models read by us and by the references of their formats",
            EXPERIMENTS,
        ),
        "push": Command(
            "contact_experiments.bench.push",
            "push anything in closed loop: how often it gets there, how fast, how hard",
            EXPERIMENTS,
        ),
        "reliability": Command(
            "contact_experiments.bench.reliability",
            "what plans with a promise promise, and how often they fail",
            EXPERIMENTS,
        ),
        "risk": Command(
            "contact_experiments.bench.risk",
            "plans with and without a promise executed by the arm, and how often they fail",
            EXPERIMENTS,
        ),
        "robust": Command(
            "contact_experiments.bench.robust",
            "plans over a grid of uncertainties and risk bounds, and how far they miss",
            EXPERIMENTS,
        ),
        "skills": Command(
            "contact_experiments.bench.skills",
            "insert and wipe in drawn cases: how often they are done, and how hard they press",
        ),
        "stops": Command(
            "contact_experiments.bench.stops",
            "how soon the controller obeys stop, hold and cancel while it is asked for much else",
        ),
        "tamsi": Command(
            "contact_experiments.bench.tamsi",
            "the simulator against Drake and MuJoCo on the same scenes",
            EXPERIMENTS,
        ),
        "tasks": Command(
            "contact_experiments.bench.tasks",
            "tasks of others, from their own starts and by their own judges",
            "tasks",
        ),
    },
    "BENCHMARK",
    """examples:
  contact-stack bench control
  contact-stack bench contacts --trials 50
  contact-stack bench control --quick --json out/control.json

Close everything else for figures that mean something.""",
)
