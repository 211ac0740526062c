"""What the formats of models have: elements and attributes, each below the one it is within."""

from __future__ import annotations

import re

# URDF's schema (urdfdom), and the attributes that its parser reads beside.
URDF = """
robot @name @version
  link @name @type
    inertial
      origin @xyz @rpy @quat_xyzw
      mass @value
      inertia @ixx @ixy @ixz @iyy @iyz @izz
    visual
    collision @name
      origin @xyz @rpy @quat_xyzw
      geometry
        box @size
        cylinder @radius @length
        sphere @radius
        capsule @radius @length
        mesh @filename @scale
      verbose
  joint @name @type
    origin @xyz @rpy @quat_xyzw
    parent @link
    child @link
    axis @xyz
    calibration
    dynamics @damping @friction
    limit @lower @upper @effort @velocity @acceleration @deceleration @jerk
    safety_controller
    mimic @joint @multiplier @offset
  material
  transmission
    leftActuator
    rightActuator
    flexJoint
    rollJoint
    gap_joint
    passive_joint
    use_simulated_gripper_joint
    mechanicalReduction
    actuator
    joint
"""

# SDF 1.11; what concerns looks, sensors and solvers is not opened.
SDF = """
sdf @version
  world @name
    audio
    wind
    include
    gravity
    magnetic_field
    atmosphere
    gui
    physics
    scene
    light
    frame
    joint
    model
    actor
    plugin
    road
    spherical_coordinates
    state
    population
  light
  actor
  model @name @namespace @canonical_link @placement_frame
    static
    self_collide
    allow_auto_disable
    frame @name @attached_to
      pose @relative_to @degrees @rotation_format
    pose @relative_to @degrees @rotation_format
    link @name
      gravity
      enable_wind
      self_collide
      kinematic
      must_be_base_link
      velocity_decay
        linear
        angular
      pose @relative_to
      inertial @auto
        density
        auto_inertia_params
        mass
        pose
        inertia
          ixx
          iyy
          izz
          ixy
          ixz
          iyz
        fluid_added_mass
      collision @name
        laser_retro
        max_contacts
        density
        auto_inertia_params
        pose
        geometry
          empty
          box
            size
          capsule
            radius
            length
          cone
          cylinder
            radius
            length
          ellipsoid
          heightmap
          image
          mesh @optimization
            convex_decomposition
            uri
            submesh
            scale
          plane
            normal
            size
          polyline
          sphere
            radius
        surface
          bounce
            restitution_coefficient
            threshold
          friction
          contact
            collide_without_contact
            collide_without_contact_bitmask
            collide_bitmask
            category_bitmask
            poissons_ratio
            elastic_modulus
            ode
              soft_cfm
              soft_erp
              kp
              kd
              max_vel
              min_depth
            bullet
              soft_cfm
              soft_erp
              kp
              kd
              split_impulse
              split_impulse_penetration_threshold
          soft_contact
      visual
      sensor
      projector
      audio_sink
      audio_source
      battery
      light
      particle_emitter
    joint @name @type
      pose @relative_to
      parent
      child
      gearbox_ratio
      gearbox_reference_body
      thread_pitch
      screw_thread_pitch
      axis
        xyz @expressed_in
        dynamics
          damping
          friction
          spring_reference
          spring_stiffness
        limit
          lower
          upper
          effort
          velocity
          stiffness
          dissipation
        mimic @joint @axis
          multiplier
          offset
          reference
      axis2
      physics
        simbody
          must_be_loop_joint
        ode
          cfm_damping
          implicit_spring_damper
          fudge_factor
          cfm
          erp
          bounce
          max_force
          velocity
          limit
          suspension
        provide_feedback
      sensor
    plugin
    gripper
    include
    model
    enable_wind
"""

# Drake's own elements; within what they may be in a URDF, and in a SDF.
DRAKE_IN_URDF = """
robot
  drake:linear_bushing_rpy
  drake:ball_constraint
  drake:linear_spring_damper
  drake:tendon_constraint
  drake:collision_filter_group
  drake:joint
  link
    collision
      drake:proximity_properties
      geometry
        drake:capsule @radius @length
        drake:ellipsoid
        mesh
          drake:declare_convex
  joint
    limit @drake:acceleration
    drake:screw_thread_pitch
  transmission
    actuator
      drake:rotor_inertia @value
      drake:gear_ratio @value
      drake:controller_gains
"""
DRAKE_IN_SDF = """
sdf
  model
    drake:linear_bushing_rpy
    drake:ball_constraint
    drake:linear_spring_damper
    drake:tendon_constraint
    drake:collision_filter_group
    drake:joint
    link
      collision
        drake:proximity_properties
        geometry
          drake:capsule
          drake:ellipsoid
          mesh
            drake:declare_convex
    joint
      axis
        limit
          drake:acceleration
      drake:rotor_inertia
      drake:gear_ratio
      drake:controller_gains
      drake:mimic @joint @multiplier @offset
"""


def paths(outline: str) -> list[tuple[str, ...]]:
    """Return the paths from the root to every element, and to every attribute.

    Args:
        outline: An element a line, indented by two below the one it is within, with its attributes.
    """
    found: list[tuple[str, ...]] = []
    above: list[str] = []
    for line in outline.strip("\n").splitlines():
        tag, *attributes = line.split()
        above[(len(line) - len(line.lstrip())) // 2 :] = [tag]
        found += [tuple(above), *((*above, attribute) for attribute in attributes)]
    return found


def mjcf_outline(schema: str) -> str:
    """Return MuJoCo's own schema as an outline.

    Args:
        schema: What ``mj_printSchema`` prints: an element, in brackets how often it may be, and its
            attributes, which go on in lines that begin with none. Its worldbody is a ``body``.
    """
    lines: list[str] = []
    for line in schema.splitlines():
        match = re.match(r"( *)(\S+) \([^)]*\)(.*)", line)
        if match is None:
            lines[-1] += "".join(f" @{name}" for name in line.split())
            continue
        indent, tag, attributes = match.groups()
        tag = tag.replace("(world)", "")
        named = "".join(f" @{name}" for name in attributes.split())
        lines.append("  " * (len(indent) // 3) + tag + named)
    return "\n".join(lines)
