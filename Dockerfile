# The stack on an installed ROS 2 Jazzy: docker build -t contact_stack .
#                                        docker run --rm -it --network host contact_stack
FROM ros:jazzy AS dependencies
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# An environment that sees the packages of ROS; the executables take their Python from the path.
ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH
WORKDIR /ws
COPY package.xml src/contact_stack/
COPY msgs src/contact_stack/msgs
# What apt installs is what the distribution has: its versions are not ours to pin.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-venv \
    && rosdep update --rosdistro jazzy \
    && rosdep install --from-paths src/contact_stack src/contact_stack/msgs --ignore-src -y \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv --system-site-packages "$VIRTUAL_ENV"

FROM dependencies AS stack
COPY . src/contact_stack
RUN . /opt/ros/jazzy/setup.bash \
    && colcon build --base-paths src/contact_stack src/contact_stack/msgs \
        src/contact_stack/bootstrap/underlay/lbr_fri_idl \
    && . install/setup.bash \
    && eval "$(contact-stack doctor --install-hints)" \
    && python -m contact_stack.precompile
ENTRYPOINT ["/bin/bash", "-c", "source /ws/install/setup.bash && exec \"$@\"", "--"]
CMD ["ros2", "launch", "contact_stack", "sim.launch.xml"]
