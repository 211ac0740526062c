"""The demos that track a reference in contact: mug_placement, mug_moving and two_contacts."""
