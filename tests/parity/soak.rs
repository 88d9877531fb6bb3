//! Memory stays what it was, chunk after chunk: the program's own soak, in a process that nobody else fills.

use std::process::Command;

/// Runs `chunks` short chunks of a tiny network and believes the exit status.
pub fn stays_flat(device: &str, chunks: u32) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_smolpilot"));
    program.args([
        "bench",
        "--made",
        "tiny",
        "--views",
        "1",
        "--num-steps",
        "1",
    ]);
    program.args(["--device", device, "--json", "--soak"]);
    let output = program.arg(chunks.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["flat"], true);
    let samples = json["samples"].as_array().unwrap();
    let last = samples.last().unwrap();
    assert_eq!(last["chunks"], chunks);
    println!("soak on {}: {last}", json["device"]);
}
