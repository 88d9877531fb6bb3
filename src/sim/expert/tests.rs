//! The expert against hand-made truths; what it does to real physics is tested with the world.
