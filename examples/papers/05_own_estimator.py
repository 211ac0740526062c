"""A contact estimator of your own beside the contact particle filter: it knows links, not points.

Run ``contact-stack paper contact_aware_control VI --with examples/papers/05_own_estimator.py``.
"""

import numpy as np

from contact_aware_control import ESTIMATORS, ContactEstimate, FreeTorqueEstimator

LINKS = ("lbr_link_5", "lbr_link_6", "lbr_link_7")


class LinkCentres(FreeTorqueEstimator):
    """Blames the link in the middle of which a force explains the torque best."""

    def locate(self, torque):
        """Return the contact that explains a torque (7) [Nm] without payload and bias."""
        shapes = [shape for shape in self.robot.collision_shapes if shape.body in LINKS]
        fits = [self._fit(shape.body, shape.placement.translation, torque) for shape in shapes]
        _, best = min(fits, key=lambda fit: fit[0])
        return [best]

    def _fit(self, link, center, torque):
        point = self.robot.link_pose(link).act(center)
        matrix = self.robot.point_jacobian(link, point).T
        force = np.linalg.lstsq(matrix, torque, rcond=None)[0]
        error = np.linalg.norm(matrix @ force - torque)
        return error, ContactEstimate.known(self.robot, link, point, force)


ESTIMATORS.register("link_centres", LinkCentres)
