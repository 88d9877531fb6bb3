//! The 32 things that go wrong with an arm on a bus, each on the real driver and the whole runtime against pretend servos.
//! What must not happen is asked of the servos' own log. Rows 1, 4 to 10 are the wire, the others the things behind it.

mod ending;
mod leader;
mod meeting;
mod pace;
mod servo;
#[cfg(unix)]
mod signals;
mod silence;
mod wire;

#[test]
fn every_row_has_its_test() {
    let files = [
        include_str!("ending.rs"),
        include_str!("leader.rs"),
        include_str!("meeting.rs"),
        include_str!("pace.rs"),
        include_str!("servo.rs"),
        include_str!("silence.rs"),
        include_str!("wire.rs"),
    ];
    for row in 1..=32 {
        let test = format!("fn fault_{row:02}_");
        assert!(files.iter().any(|file| file.contains(&test)), "row {row}");
    }
}
