"""Seeing a simulation: live in the browser while it is stepped, and as a recording for others."""

from tamsi_sim import World

world = World().add_ground()
for number in range(5):
    place = (0.01 * number, 0.0, 0.06 + 0.12 * number)
    world.add(f"mug_{number}", "urdf/mug.urdf", place, (0.0, 0.1, number), free=True)
engine = world.build(time_step=1e-3)

# Open the printed address: bodies and contact forces follow the steps. A notebook shows the page
# where it is the last value of a cell.
with engine.show() as page:
    for _ in range(500):
        engine.step()
        page.update()

# A trajectory has a slider and a speed instead; its recording is one file that needs no Python.
engine.reset()
with engine.play(engine.simulate(duration=2.0)) as player:
    path = player.recording().save("out/mugs.html")
print(f"the mugs come to rest at {engine.q[2::7].round(3)} m: {path}")
