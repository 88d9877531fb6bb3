//! `smolpilot check`: what this machine and a checkpoint can do together, said before any torque is switched on.

mod verdict;
