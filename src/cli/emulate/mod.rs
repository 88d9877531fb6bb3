//! `smolpilot emulate`: pretend arms behind serial ports that any program can open, so that what is written for an SO-101
//! can be tried without one.

mod args;

use std::io::{BufRead as _, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;

use crate::app::ending;
use crate::arm::{Calibrations, Role, check_id};
use crate::cli::output::{Outcome, wrong_argument};
use crate::clock::Clock;
use crate::joint::Joint;
use crate::sim::{Build, Plug, Pty, Script, SimArm, Stage, Traffic};

pub use args::{EmulateArgs, SimArgs, SimVerb};

/// How often the command looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);
/// How often it says what goes on.
const LOG_PERIOD: Duration = Duration::from_secs(1);

/// One arm that is served.
struct Emulated {
    role: Role,
    arm: SimArm,
    pty: Pty,
    /// As it was said last: traffic, and whether a client was there.
    said: (Traffic, bool),
}

/// Runs the command.
pub fn run(
    args: &EmulateArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    // Ended in order, so that no link stays behind.
    ending::listen();
    let clock = Clock::real();
    let mut arms = plug_in(args, &clock)?;
    if let Some(folder) = &args.calibration {
        for emulated in &arms {
            let calibration = emulated.arm.calibration();
            let place = Calibrations::below(folder);
            place
                .stage(emulated.role, &args.id, &calibration)?
                .commit()?;
        }
    }
    for Emulated { role, pty, .. } in &arms {
        let path = pty.path().context("the port is gone already")?;
        writeln!(out, "{role} {}", path.display())?;
    }
    out.flush()?;
    let told_to_end = if args.control {
        listen(&arms)?
    } else {
        Arc::default()
    };
    let end = args.seconds.map(Duration::from_secs_f64);
    let is_over = || {
        ending::interrupted()
            || told_to_end.load(Ordering::SeqCst)
            || end.is_some_and(|end| clock.now() >= end)
    };
    let mut logged = clock.now();
    loop {
        let over = is_over();
        let passed = clock.now().saturating_sub(logged);
        if args.log && (over || passed >= LOG_PERIOD) {
            logged = clock.now();
            for emulated in &mut arms {
                emulated.log(passed, err)?;
            }
        }
        if over {
            return Ok(Outcome::Done);
        }
        clock.sleep_until(clock.now() + LOOK);
    }
}

/// Makes the arms and serves them.
fn plug_in(args: &EmulateArgs, clock: &Clock) -> anyhow::Result<Vec<Emulated>> {
    let roles = args.arms();
    if args.links.len() > roles.len() {
        return Err(wrong_argument(format!(
            "{} links for {} arms: give each arm one --link at most",
            args.links.len(),
            roles.len()
        )));
    }
    let doubled = |(nth, link): &(usize, &PathBuf)| args.links[..*nth].contains(link);
    if let Some((_, link)) = args.links.iter().enumerate().find(doubled) {
        return Err(wrong_argument(format!(
            "--link {} is named for two arms: give each arm a link of its own",
            link.display()
        )));
    }
    if args.calibration.is_some() {
        check_id(&args.id).map_err(wrong_argument)?;
    }
    let script = match &args.faults {
        Some(file) => Script::read(file).map_err(wrong_argument)?,
        None => Script::default(),
    };
    let has_leader = roles.contains(&Role::Leader);
    let mut links = args.links.iter().cloned();
    let mut arms = Vec::with_capacity(roles.len());
    for role in roles {
        let arm = SimArm::built(clock.clone(), Build::new(role, args.stage()));
        if args.stage() == Stage::Boxed {
            arm.plug(Plug::Only(Joint::Gripper));
        }
        if role == Role::Leader || !has_leader {
            arm.hand(args.hand);
        }
        arm.script(script.clone());
        let pty = Pty::start(arm.clone(), links.next())
            .with_context(|| format!("cannot serve the {role}"))?;
        arms.push(Emulated {
            role,
            arm,
            pty,
            said: Default::default(),
        });
    }
    Ok(arms)
}

impl Emulated {
    /// Says what went on since it was said last, if anything did.
    fn log(&mut self, passed: Duration, err: &mut dyn Write) -> anyhow::Result<()> {
        let now = (self.arm.traffic(), self.pty.is_connected());
        let before = std::mem::replace(&mut self.said, now);
        if now == before {
            return Ok(());
        }
        let rate = (now.0.requests - before.0.requests) as f64 / passed.as_secs_f64();
        let client = if now.1 { "a client" } else { "no client" };
        let strikes = now.0.strikes - before.0.strikes;
        let noise = now.0.noise - before.0.noise;
        writeln!(
            err,
            "{}: {rate:.0} transactions/s, {strikes} struck by faults, {noise} bytes were no request, {client}",
            self.role
        )?;
        Ok(())
    }
}

/// Plays what is typed on stdin; the flag is set when stdin has ended.
fn listen(arms: &[Emulated]) -> anyhow::Result<Arc<AtomicBool>> {
    let arms: Vec<_> = arms.iter().map(|it| (it.role, it.arm.clone())).collect();
    let ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ended);
    // Nothing can wake a thread that waits for a person to type; it ends with the program.
    std::thread::Builder::new()
        .name("emulator words".to_owned())
        .spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if let Err(why) = obey(&line, &arms) {
                    log::error!("{why}");
                }
            }
            flag.store(true, Ordering::SeqCst);
        })
        .context("the system gives no thread")?;
    Ok(ended)
}

/// Plays one line on the arms that it means.
fn obey(line: &str, arms: &[(Role, SimArm)]) -> Result<(), String> {
    let (first, rest) = line.trim().split_once(' ').unwrap_or((line, ""));
    let (meant, words) = match first.parse::<Role>() {
        Ok(role) => (Some(role), rest),
        Err(_) => (None, line),
    };
    let script: Script = words.parse().map_err(|why| format!("not played: {why}"))?;
    let meant = |role: Role| meant.is_none_or(|meant| meant == role);
    let meant: Vec<_> = arms.iter().filter(|(role, _)| meant(*role)).collect();
    if meant.is_empty() {
        return Err(format!("not played: there is no {first} here"));
    }
    for (_, arm) in meant {
        arm.script(script.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Verb};

    fn parsed(words: &str) -> EmulateArgs {
        match Cli::try_parse_from(words.split_whitespace()).unwrap().verb {
            Some(
                Verb::Emulate(args)
                | Verb::Sim(SimArgs {
                    verb: SimVerb::Emulate(args),
                }),
            ) => *args,
            other => panic!("{words} is {other:?}"),
        }
    }

    #[test]
    fn the_words_tell_which_arms_and_how_far_they_are() {
        let arms = |words: &str| {
            let args = parsed(words);
            (args.arms(), args.stage())
        };
        let (follower, leader) = (Role::Follower, Role::Leader);
        assert_eq!(
            arms("smolpilot emulate"),
            (vec![follower], Stage::Calibrated)
        );
        assert_eq!(
            arms("smolpilot sim emulate --pair --fresh"),
            (vec![follower, leader], Stage::Uncalibrated)
        );
        assert_eq!(
            arms("smolpilot emulate --role leader --role leader --boxed"),
            (vec![leader, leader], Stage::Boxed)
        );
    }

    #[test]
    fn a_line_is_played_by_the_arms_that_it_means() {
        let clock = Clock::virtual_at_zero();
        let arms = [
            (Role::Follower, SimArm::new(clock.clone())),
            (Role::Leader, SimArm::leader(clock.clone())),
        ];
        let start = arms[0].1.pose();
        obey("leader hand:0,0,0,0,0,50", &arms).unwrap();
        clock.advance(Duration::from_secs(3));
        for (_, arm) in &arms {
            arm.advance();
        }
        assert_eq!(arms[0].1.pose(), start);
        assert!(arms[1].1.pose()[Joint::ShoulderLift].abs() < 0.2);
        obey("# nothing", &arms).unwrap();
        obey("id:3=9", &arms).unwrap();
        assert!(arms.iter().all(|(_, arm)| arm.id(Joint::ElbowFlex) == 9));
        assert!(obey("leader drp", &arms).unwrap_err().contains("`drp`"));
        assert!(
            obey("leader mute:1", &arms[..1])
                .unwrap_err()
                .contains("no leader")
        );
    }

    #[cfg(unix)]
    #[test]
    fn each_arm_is_named_with_its_port_and_calibrations_lie_where_lerobot_looks() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).display().to_string();
        let words = format!(
            "smolpilot emulate --pair --seconds 0.01 --link {} --calibration {} --id me",
            place("arm"),
            place("cal")
        );
        let mut out = Vec::new();
        let outcome = run(&parsed(&words), &mut out, &mut Vec::new()).unwrap();
        let out = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!((outcome, lines.len()), (Outcome::Done, 2));
        assert_eq!(lines[0], format!("follower {}", place("arm")));
        assert!(lines[1].starts_with("leader /dev/"), "{out}");
        for file in [
            "robots/so_follower/me.json",
            "teleoperators/so_leader/me.json",
        ] {
            let path = folder.path().join("cal").join(file);
            crate::arm::Calibration::read(&path).unwrap();
        }
    }

    #[test]
    fn wrong_files_and_too_many_links_are_wrong_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bad.faults");
        std::fs::write(&file, "echo\nat 1s drp\n").unwrap();
        let refused = |words: &str| {
            let args = parsed(words);
            run(&args, &mut Vec::new(), &mut Vec::new())
                .unwrap_err()
                .to_string()
        };
        let why = refused(&format!("smolpilot emulate --faults {}", file.display()));
        assert!(why.contains("bad.faults line 2: `drp`"), "{why}");
        let why = refused("smolpilot emulate --link a --link b");
        assert!(why.contains("2 links for 1 arms"), "{why}");
        let why = refused("smolpilot emulate --pair --link a --link a");
        assert!(why.contains("--link a is named for two arms"), "{why}");
        // What is named is written below the folder that was named, and nowhere else.
        let place = folder.path().join("deep/cal");
        for id in ["../../../out", "..", "a/b"] {
            let place = place.display();
            let words = format!("smolpilot emulate --calibration {place} --id {id} --seconds 0.01");
            let why = refused(&words);
            assert!(why.contains("cannot be the name of an arm"), "{why}");
        }
        assert!(!folder.path().join("deep").exists());
    }
}
