//! Writes down what the pretend arms are calibrated with, where LeRobot and this program look for it.

use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, json};

use crate::arm::{Calibration, Role};
use crate::joint::Joint;

/// Writes the calibration of an arm called `id` below `folder`, which takes the place of LeRobot's calibration folder.
///
/// # Errors
/// The file or its folder cannot be written.
pub fn write(folder: &Path, role: Role, id: &str, calibration: &Calibration) -> anyhow::Result<()> {
    let place = match role {
        Role::Follower => "robots/so_follower",
        Role::Leader => "teleoperators/so_leader",
    };
    let folder = folder.join(place);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join(format!("{id}.json"));
    let text = serde_json::to_string_pretty(&entries(calibration))?;
    std::fs::write(&path, text)
        .with_context(|| format!("cannot write the calibration {}", path.display()))
}

fn entries(calibration: &Calibration) -> Map<String, serde_json::Value> {
    let entry = |joint: Joint| {
        let motor = calibration.motor(joint);
        let entry = json!({
            "id": motor.id,
            "drive_mode": motor.drive_mode,
            "homing_offset": motor.homing_offset,
            "range_min": motor.range_min,
            "range_max": motor.range_max,
        });
        (joint.name().to_owned(), entry)
    };
    Joint::ALL.into_iter().map(entry).collect()
}
