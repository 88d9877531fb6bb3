//! The window over made-up snapshots, for people who work on it: `cargo run --release --example cockpit -- STATE [light] [large]`.

use std::time::Duration;

use smolpilot::app::window::{WindowSetup, run};
use smolpilot::clock::Clock;
use smolpilot::latest::Latest;
use smolpilot::runtime::{Command, Mode, Snapshot};
use smolpilot::ui::{Preferences, ThemeChoice};

mod fixture;
mod person;
mod recorded;
mod trouble;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let state = words.first().cloned().unwrap_or_default();
    let scale = if words.iter().any(|word| word == "large") {
        2.0
    } else {
        1.0
    };
    let theme = if words.iter().any(|word| word == "light") {
        ThemeChoice::Light
    } else {
        ThemeChoice::Dark
    };
    let snapshots = Latest::new();
    let (commands, received) = crossbeam_channel::bounded(64);
    let slot = snapshots.clone();
    std::thread::Builder::new()
        .name("fixture".to_owned())
        .spawn(move || {
            let clock = Clock::real();
            let mut said = Vec::new();
            for tick in 3_000_u64.. {
                let heard: Vec<Command> = received.try_iter().collect();
                if heard.contains(&Command::Shutdown) {
                    return;
                }
                said.extend(heard);
                slot.set(answer(snapshot(&state, tick), &said));
                clock.sleep_until(Duration::from_millis((tick - 2_999) * 1_000 / 30));
            }
        })?;
    run(WindowSetup {
        snapshots,
        commands,
        stop: std::sync::Arc::new(|| {}),
        is_over: Box::new(|| false),
        preferences: Preferences {
            theme,
            scale,
            ..Preferences::default()
        },
        save: Box::new(|_| {}),
        log: None,
        pad: Latest::new(),
        shared: None,
        frames: Latest::new(),
    })
}

fn snapshot(state: &str, tick: u64) -> Snapshot {
    match state {
        "idle" => fixture::idle(),
        "rig" => fixture::on_rig(),
        "stopped" => fixture::stopped(),
        "jogging" => fixture::jogging(),
        "starved" => fixture::starved(),
        "faulty" => fixture::faulty(),
        "empty" => fixture::empty(),
        _ => trouble::every()
            .into_iter()
            .chain(person::every())
            .chain(recorded::sessions())
            .chain(recorded::libraries())
            .find(|(name, _)| *name == state)
            .map_or_else(|| fixture::running(tick), |(_, snapshot)| snapshot),
    }
}

/// Shows what was asked for, as a runtime would.
fn answer(mut snapshot: Snapshot, said: &[Command]) -> Snapshot {
    use smolpilot::runtime::{Connection, Knob, Stopped};
    let now = snapshot.now;
    for command in said {
        match command {
            Command::SetMode(mode) => snapshot.mode = *mode,
            Command::Stop => {
                snapshot.mode = Mode::Hold;
                snapshot.stopped = Some(Stopped {
                    by: "the operator".to_owned(),
                    since: now,
                    acknowledged: true,
                });
            }
            Command::Resume => snapshot.stopped = None,
            Command::EnableTorque => snapshot.connection = Connection::Connected { torque: true },
            Command::SetTask(task) => snapshot.task.clone_from(task),
            Command::Set(Knob::ChunkSizeThreshold(g)) => snapshot.knobs.chunk_size_threshold = *g,
            Command::Set(Knob::Scheduling(choice)) => snapshot.knobs.scheduling = *choice,
            Command::Set(Knob::NumSteps(steps)) => snapshot.knobs.num_steps = *steps,
            _ => {}
        }
    }
    snapshot
}
