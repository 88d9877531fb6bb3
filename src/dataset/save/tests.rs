//! What the store promises: each episode once and whole, whichever write fails.
