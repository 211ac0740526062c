"""A contact estimator of your own beside the contact particle filter of the paper.

    contact-stack paper contact_aware_control VI --with examples/papers/own_estimator.py

It blames the link at whose origin a force explains the torque best.
"""

import numpy as np

from contact_aware_control import ESTIMATORS, ContactEstimate, FreeTorqueEstimator

LINKS = ("lbr_link_5", "lbr_link_6", "lbr_link_7")


class LinkOrigins(FreeTorqueEstimator):
    """Knows links only, not where on their surface they are touched."""

    def locate(self, torque):
        """Return the best of the links."""
        fits = [self._fit(link, torque) for link in LINKS]
        _, best = min(fits, key=lambda fit: fit[0])
        return [best]

    def _fit(self, link, torque):
        point = self.robot.link_pose(link).translation
        matrix = self.robot.point_jacobian(link, point).T
        force = np.linalg.lstsq(matrix, torque, rcond=None)[0]
        error = np.linalg.norm(matrix @ force - torque)
        return error, ContactEstimate.known(self.robot, link, point, force)


ESTIMATORS.register("link_origins", LinkOrigins)
