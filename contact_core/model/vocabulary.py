"""What URDF, SDF and MJCF have, and what becomes of it; see :mod:`contact_core.model.elements`."""

from __future__ import annotations

from collections.abc import Mapping

from contact_core.model.elements import ONCE

Table = Mapping[str, str]

_DRAKE_LOOPS = (
    "drake:linear_bushing_rpy! drake:ball_constraint! drake:linear_spring_damper! "
    "drake:tendon_constraint! drake:collision_filter_group?"
)
_LAW = (
    "parameters of another law of contact, not read (World.add's surface and World.set_material "
    "say how things touch)"
)
_PROXIMITY = (
    "drake:mu_static drake:mu_dynamic drake:hunt_crossley_dissipation "
    "drake:point_contact_stiffness drake:compliant_hydroelastic# drake:rigid_hydroelastic# "
    "drake:hydroelastic_modulus# drake:hydroelastic_margin# drake:mesh_resolution_hint. "
    "drake:relaxation_time#"
)
_CLOSE = "closes a loop (valid: without it, and World.connect or World.weld)"
REASONS = {
    "#": _LAW,
    **dict.fromkeys(("@margin", "@gap"), _LAW),
    "drake:linear_bushing_rpy": _CLOSE,
    "drake:ball_constraint": _CLOSE,
    "gazebo/joint": "not read: what it closes stays open (World.connect and World.weld close it)",
    "drake:linear_spring_damper": "a spring between two links cannot be simulated",
    "drake:tendon_constraint": "tendons are read of a MJCF alone",
    "drake:ellipsoid": "an ellipsoid (valid: sphere, box, cylinder, capsule, mesh)",
    "drake:collision_filter_group": "not read (World.collide_with_itself has apart)",
    "drake:controller_gains": "not read (the engine's drives have gains of their own)",
    "include": "other files are not included (valid: one file)",
    "macro": "xacro without its prefix (valid: expand it first)",
    "loop_joint": _CLOSE,
    "population": "models made by number (valid: one by one)",
    "turnGravityOff": "not read (World.add has weightless)",
    "self_collide": "not read (World.collide_with_itself)",
    "selfCollide": "not read (World.collide_with_itself)",
}  # fmt: skip

URDF: Table = {
    ONCE: "inertial origin mass inertia geometry parent child axis limit dynamics mimic",
    "robot": "@name @version link joint material. transmission gazebo ros2_control. sensor. "
    "frame. group. author. verbose. include! macro! loop_joint! drake:joint. drake:link. "
    + _DRAKE_LOOPS,
    "link": "@name @type. inertial visual. collision sensor. contact# collision_checking. "
    "self_collision_checking? self_filter? origin? gravity? kinematic? material.",
    "inertial": "origin mass inertia",
    "origin": "@xyz @rpy @quat_xyzw",
    "mass": "@value",
    "inertia": "@ixx @ixy @ixz @iyy @iyz @izz",
    "collision": "@name @group. @concave. origin geometry verbose. material. contact_coefficients# "
    "surface# drake:proximity_properties",
    "drake:proximity_properties": _PROXIMITY,
    **dict.fromkeys(("mu", "mu1", "mu2", *_PROXIMITY.split()[:4]), "@value"),
    "geometry": "@name. box sphere cylinder capsule mesh plane drake:capsule drake:ellipsoid!",
    "plane": "@normal",
    "box": "@size @half_space",
    "sphere": "@radius",
    "cylinder": "@radius @length",
    "capsule": "@radius @length",
    "drake:capsule": "@radius @length",
    "mesh": "@filename @scale drake:declare_convex.",
    "joint": "@name @type @dont_collapse. origin parent child axis calibration. "
    "dynamics limit safety_controller. mimic sensor. material. drake:screw_thread_pitch?",
    "parent": "@link",
    "child": "@link",
    "axis": "@xyz",
    "dynamics": "@damping @friction @spring_stiffness @spring_reference",
    "limit": "@lower @upper @effort @velocity @acceleration. @deceleration. @jerk. "
    "@drake:acceleration.",
    "mimic": "@joint @multiplier @offset",
    "transmission": "@*. joint actuator *.",
    "transmission/joint": "@*. *.",
    "actuator": "@*. drake:rotor_inertia drake:gear_ratio drake:controller_gains? *.",
    "drake:rotor_inertia": "@value",
    "drake:gear_ratio": "@value",
    "gazebo": "@reference @xmlns:*. material. visual. plugin. sensor. light. controller:*. "
    "sensor:*. interface:*. frame. mu mu1 mu2 kp# kd# fdir1# minDepth. maxVel. maxContacts. "
    "laserRetro. provideFeedback. implicitSpringDamper. stopKp. stopKd. stopCfm. stopErp. "
    "cfmDamping. fudgeFactor. preserveFixedJoint. disableFixedJointLumping. disableJointLumping. "
    "enable_wind? gravity? initial_joint_position? turnGravityOff? selfCollide? self_collide? "
    "static? pose? springStiffness? springReference? "
    "dampingFactor? velocity_decay? bounce? kinematic? link? joint? model? collision? physics. "
    "axis? canonicalBody. interface. controller. map. video. geom. option.",
}

SDF: Table = {
    "include": "@merge uri name namespace. static pose placement_frame plugin.",
    ONCE: "inertial pose mass inertia ixx iyy izz ixy ixz iyz geometry parent child axis xyz limit "
    "dynamics mimic lower upper effort velocity damping friction size radius length uri scale "
    "normal static gravity kinematic",
    "sdf": "@version model world light. actor?",
    "world": "@name include audio. wind? gravity magnetic_field. atmosphere. gui. physics scene. "
    "light. frame joint model actor? plugin. road? spherical_coordinates. state? population! "
    + _DRAKE_LOOPS,
    "physics": "@*. gravity? *.",
    "frame": "@name @attached_to pose",
    "pose": "@relative_to @frame @degrees @rotation_format",
    "model": "@name @canonical_link @placement_frame @namespace. static self_collide "
    "allow_auto_disable. frame pose link joint plugin. gripper. include model enable_wind? light. "
    "drake:joint! " + _DRAKE_LOOPS,
    "link": "@name gravity enable_wind? self_collide? kinematic must_be_base_link? velocity_decay "
    "pose inertial collision visual. sensor. projector. audio_sink. audio_source. battery. light. "
    "particle_emitter. plugin.",
    "velocity_decay": "linear? angular?",
    "inertial": "@auto pose mass inertia density. auto_inertia_params. fluid_added_mass",
    "inertia": "ixx ixy ixz iyy iyz izz",
    "fluid_added_mass": "*.",
    "collision": "@name laser_retro. max_contacts. density. material_density. "
    "auto_inertia_params. pose geometry surface drake:proximity_properties",
    "drake:proximity_properties": _PROXIMITY,
    "geometry": "box sphere cylinder capsule mesh plane ellipsoid cone heightmap image polyline "
    "empty drake:capsule drake:ellipsoid!",
    "box": "size",
    "sphere": "radius",
    "cylinder": "radius length",
    "capsule": "radius length",
    "plane": "normal size.",
    "mesh": "@optimization. convex_decomposition. uri submesh scale drake:declare_convex.",
    **dict.fromkeys(("ellipsoid", "cone", "heightmap", "image", "polyline", "submesh"), "@*. *."),
    "surface": "bounce friction contact soft_contact?",
    "friction": "ode bullet torsional#",
    "friction/ode": "mu mu2 fdir1# slip1? slip2?",
    "friction/bullet": "friction friction2# fdir1# rolling_friction#",
    "bounce": "restitution_coefficient? threshold.",
    "contact": "collide_without_contact? collide_without_contact_bitmask. collide_bitmask? "
    "category_bitmask? poissons_ratio. elastic_modulus. ode bullet",
    "contact/ode": "soft_cfm. soft_erp. kp# kd# max_vel. min_depth.",
    "bullet": "soft_cfm. soft_erp. kp# kd# split_impulse. split_impulse_penetration_threshold.",
    "joint": "@name @type pose parent child gearbox_ratio? gearbox_reference_body. thread_pitch? "
    "screw_thread_pitch? axis axis2? physics sensor. plugin. drake:rotor_inertia drake:gear_ratio "
    "drake:controller_gains? drake:mimic",
    "axis": "xyz initial_position? use_parent_model_frame dynamics limit mimic",
    "xyz": "@expressed_in",
    "dynamics": "damping friction spring_reference spring_stiffness",
    "limit": "lower upper effort velocity stiffness? dissipation? drake:acceleration.",
    "mimic": "@joint @axis multiplier offset reference",
    "drake:mimic": "@joint @multiplier @offset",
    "joint/physics": "simbody ode provide_feedback.",
    "simbody": "must_be_loop_joint?",
    "physics/ode": "cfm_damping. implicit_spring_damper. fudge_factor. cfm. erp. bounce? "
    "max_force? velocity? limit. suspension. provide_feedback.",
}

_POSE = "@pos @quat @axisangle @euler @xyaxes @zaxis "
_INSIDE = "inertial joint freejoint geom attach site. camera. light. plugin composite flexcomp "
_LIMIT_LAW = "@solreflimit# @solimplimit# @solreffriction# @solimpfriction# @margin? "
_DRIVE = (
    "@name @class @group. @user. @ctrllimited @ctrlrange @forcelimited @forcerange @gear @joint "
    "@jointinparent @tendon @site @refsite @body @slidersite @cranksite @cranklength. "
    "@lengthrange. @actlimited. @actrange. @actdim. @actearly. @inheritrange @delay? @nsample. "
    "@interp. @input? @armature? @damping? @ffrange? @velrange? *. "
)
_EQUALITY = "@name @class @active @solref# @solimp# "
_OWN = "@*. *."  # of an actuator that is named as a whole

MJCF: Table = {
    ONCE: "inertial freejoint",
    "mujoco": "@model compiler option size. statistic. visual. default extension asset worldbody "
    "contact equality tendon actuator sensor. keyframe custom. deformable",
    "mujocoinclude": "*",
    "compiler": "@alignfree? @* lengthrange.",
    "option": "@density @viscosity @wind @gravity @actuatorgroupdisable? @*. flag",
    "flag": "@contact @constraint @limit @frictionloss @equality @passive @spring @damper "
    "@filterparent @gravity @actuation? @override? @*.",
    "default": "@class default mesh material. texture. joint geom site. camera. light. pair "
    "equality tendon general motor position velocity intvelocity damper cylinder muscle adhesion "
    "dcmotor pid orientation plugin.",
    "asset": "mesh texture. material. hfield. skin. model",
    "model": "@name @file @class. @content_type.",
    "material": "@*. layer.",
    "mesh": "@name @class @content_type. @file @vertex @normal. @texcoord. @face @refpos @refquat "
    "@scale @smoothnormal. @maxhullvert. @inertia @builtin @params. @material. plugin?",
    "worldbody": "body frame " + _INSIDE,
    "body": "@name @childclass @mocap @gravcomp @user. @fuse. @simple. @sleep. "
    + _POSE + "body frame replicate " + _INSIDE,
    "frame": "@name @childclass " + _POSE + "body frame replicate " + _INSIDE,
    "attach": "@model @body @frame! @prefix",
    **dict.fromkeys(("replicate", "composite", "flexcomp", "plugin"), _OWN),
    **dict.fromkeys(("extension", "deformable"), _OWN),
    "inertial": "@mass @diaginertia @fullinertia " + _POSE,
    "joint": "@name @class @type @group. @pos @axis @ref @springdamper @limited @range "
    "@actuatorfrclimited @actuatorfrcrange @actuatorgravcomp? @stiffness @springref @damping "
    "@frictionloss @armature @user. " + _LIMIT_LAW,
    "freejoint": "@name @group. @align?",
    "geom": "@name @class @type @contype @conaffinity @condim @group @size @material @friction "
    "@mass @density @shellinertia @solmix# @solref# @solimp# @margin? @gap? @priority @adhesion? "
    "@surfacevel? @fromto @hfield @mesh @fitscale @rgba @fluidshape. @fluidcoef. @user. plugin? "
    + _POSE,
    "contact": "pair exclude",
    "pair": "@name @class @geom1 @geom2 @condim @friction @solref# @solimp# @solreffriction# "
    "@margin? @gap? @adhesion?",
    "exclude": "@name @body1 @body2",
    "tendon": "fixed spatial " + _LIMIT_LAW + "@class @group. @limited @range @stiffness @damping "
    "@frictionloss @springlength @armature @material. @rgba. @user. @width.",
    **dict.fromkeys(
        ("fixed", "spatial"),
        "@name @class @group. @limited @range @actuatorfrclimited @actuatorfrcrange @stiffness "
        "@damping @frictionloss @springlength @armature @material. @rgba. @user. @width. "
        "joint site. geom. pulley. " + _LIMIT_LAW,
    ),
    "fixed/joint": "@joint @coef",
    "equality": "connect weld joint tendon flex flexvert flexstrain " + _EQUALITY,
    "connect": "@body1 @body2 @anchor @site1 @site2 " + _EQUALITY,
    "weld": "@body1 @body2 @anchor @relpose @site1 @site2 @torquescale# " + _EQUALITY,
    "equality/joint": "@joint1 @joint2 @polycoef " + _EQUALITY,
    "equality/tendon": "@tendon1 @tendon2 @polycoef " + _EQUALITY,
    **dict.fromkeys(("flex", "flexvert", "flexstrain"), _OWN),
    "actuator": "general motor position velocity intvelocity damper cylinder muscle adhesion "
    "dcmotor pid orientation plugin",
    "general": "@dyntype @gaintype @biastype @dynprm @gainprm @biasprm " + _DRIVE,
    "motor": _DRIVE,
    "position": "@kp @kv @dampratio @timeconst " + _DRIVE,
    "velocity": "@kv " + _DRIVE,
    **dict.fromkeys(
        ("intvelocity", "damper", "cylinder", "muscle", "adhesion", "dcmotor", "pid",
         "orientation"), _OWN,
    ),
    "keyframe": "key",
    "key": "@name @time. @qpos @qvel @ctrl @act @mpos @mquat",
}  # fmt: skip

TABLES: Mapping[str, Table] = {"robot": URDF, "sdf": SDF, "mujoco": MJCF}
