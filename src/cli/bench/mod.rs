//! `smolpilot bench`: how long a chunk takes on this machine, by stage, and what it is made of.

mod report;
