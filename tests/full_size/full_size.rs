//! The 450M network of seed 2026: writes its checkpoint in LeRobot's format, and holds every stage of it to the reference.
//!
//! ```text
//! cargo run --release --example full_size -- --dir DIR [--tokenizer tokenizer.json]
//!     [--golden full_golden.safetensors] [--device flex|software|wgpu|auto|gpu:N]
//! ```
//!
//! The checkpoint is a pure function of the seed (906 712 520 bytes of weights), so it is never kept with the code.
//! SmolVLM2's `tokenizer.json` is not part of this project; `--tokenizer` names a copy. Exits with an error when a stage
//! is further from the reference than [`compare::TOLERANCE`].

mod compare;
mod write;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;
use smolpilot::gpu::DeviceChoice;

#[derive(Parser)]
struct Arguments {
    /// Where the checkpoint is, or is to be written.
    #[arg(long)]
    dir: PathBuf,
    /// SmolVLM2's tokenizer.json, copied beside the weights.
    #[arg(long)]
    tokenizer: Option<PathBuf>,
    /// Reference tensors to compare with.
    #[arg(long)]
    golden: Option<PathBuf>,
    /// Where the network runs.
    #[arg(long, default_value = "flex")]
    device: DeviceChoice,
    /// Chunks to run; the first one is compared, the fastest is timed.
    #[arg(long, default_value_t = 1)]
    runs: usize,
}

fn main() -> Result<()> {
    env_logger::init();
    let arguments = Arguments::parse();
    let bytes = write::checkpoint(&arguments.dir, arguments.tokenizer.as_deref())?;
    say(&format!(
        "{}: model.safetensors has {bytes} bytes",
        arguments.dir.display()
    ))?;
    let Some(golden) = arguments.golden else {
        return Ok(());
    };
    let worst = compare::run(
        &arguments.dir,
        &golden,
        arguments.device.into(),
        arguments.runs,
    )?;
    if worst > compare::TOLERANCE {
        bail!(
            "the largest error is {worst:e}, more than {:e}",
            compare::TOLERANCE
        );
    }
    Ok(())
}

/// One line for people.
fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
