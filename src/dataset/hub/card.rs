//! The page that the hub shows of a data set.

use std::fmt::Write as _;

use crate::dataset::Dataset;

/// The card in Markdown; its head is what the hub sorts by, its body what people read.
pub fn card(dataset: &Dataset, name: &str) -> String {
    let mut text = String::from(
        "---\ntask_categories:\n- robotics\ntags:\n- LeRobot\nconfigs:\n- config_name: default\n  data_files: data/*/*.parquet\n---\n\n",
    );
    let (episodes, frames) = (dataset.episodes().len(), dataset.frames());
    let seconds = frames as f64 / dataset.fps();
    // Writing to a string cannot fail, here and below.
    writeln!(text, "# {name}\n").ok();
    writeln!(
        text,
        "{episodes} episodes, {frames} rows at {} Hz, {:.0} minutes in all. Format LeRobotDataset {}, robot `{}`. Recorded with smolpilot.",
        dataset.fps(),
        seconds / 60.0,
        dataset.version(),
        dataset.robot_type()
    )
    .ok();
    if !dataset.cameras().is_empty() {
        writeln!(text, "\n| camera | pixels | codec |\n|---|---|---|").ok();
    }
    for camera in dataset.cameras() {
        let (width, height) = (camera.width, camera.height);
        writeln!(
            text,
            "| {} | {width}x{height} | {} |",
            camera.name, camera.codec
        )
        .ok();
    }
    writeln!(text, "\nTasks:\n").ok();
    for task in dataset.tasks() {
        writeln!(text, "- {task}").ok();
    }
    text
}
