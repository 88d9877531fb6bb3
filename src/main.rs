//! Starts the program; everything else is in the library.

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    smolpilot::app::log::start();
    let out = &mut io::stdout().lock();
    smolpilot::cli::run(std::env::args_os(), out, &mut io::stderr()).into()
}
