//! The real driver against the pretend arm, with faults: what must never move, and what must always be noticed.
