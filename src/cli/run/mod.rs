//! `smolpilot run`: the runtime without a window, for a while, with a summary at the end.

mod knobs;
mod summary;
