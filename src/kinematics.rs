//! Forward and inverse kinematics of the SO-101, in radians and metres.
