"""Small MJCF: bodies with a ball each, two joints, and a tendon of both."""

BALL = '<geom name="ball" size="0.1" mass="2"/>'


def mjcf(world, *sections, compiler=""):
    """Return a MJCF."""
    text = f"<worldbody>{world}</worldbody>"
    return f'<mujoco model="m"><compiler {compiler}/>{"".join(sections)}{text}</mujoco>'


def body(content, name="b", **attributes):
    """Return one body with a ball."""
    extra = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    return f'<body name="{name}" {extra}>{content}{BALL.replace("ball", "ball_" + name)}</body>'


JOINT = '<joint name="j"/>'
TWO = body(JOINT, "a") + body('<joint name="i"/>', "b")
TIED = """<tendon><fixed name="{}" {}><joint joint="i" coef="0.5"/><joint joint="j" coef="-0.25"/>
  </fixed></tendon>"""
