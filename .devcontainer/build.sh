#!/usr/bin/env bash
# Builds the workspace around this checkout, and installs what rosdep cannot.
set -eo pipefail
cd /ws
source /opt/ros/jazzy/setup.bash
colcon build --symlink-install --base-paths src/contact_stack src/contact_stack/msgs \
    src/contact_stack/bootstrap/underlay/lbr_fri_idl
source install/setup.bash
eval "$(contact-stack doctor --install-hints)"
python -m contact_experiments.precompile
echo "source /ws/install/setup.bash" >> ~/.bashrc
