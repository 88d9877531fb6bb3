//! The keyboard of the cockpit: Space and Esc stop, one key a mode, one key a recent task.

use egui::{Context, Event, Key, Modifiers};

use crate::dataset::Outcome;
use crate::runtime::{Command, Mode, RigOrder, SessionPhase, Snapshot};
use crate::ui::draft::{Draft, Page};
use crate::ui::record::{RecordKey, begin, ordered_by_key};
use crate::ui::state::{mode_obstacle, takeover_obstacle};

/// What each key does, for the help page: key, meaning.
pub const HELP: [(&str, &str); 21] = [
    ("Space", "Stop (a space while a text is being typed)"),
    ("Esc", "Stop, always, also while a text is being typed"),
    ("H", "Hold the pose"),
    ("P", "Let the policy drive"),
    (
        "T",
        "Take over: you drive by the leader, or by JOG without one; again: back to whoever drove",
    ),
    ("J", "Jog: you drive, by joint or by the gripper's tip"),
    (
        "↑ ↓ ← →",
        "In JOG, while held: the tip goes forward, back, left, right",
    ),
    ("PgUp PgDn", "In JOG, while held: the tip goes up, down"),
    (
        "Home End",
        "In JOG, while held: the gripper tilts up, down; Q and E roll it",
    ),
    ("O C", "In JOG, while held: the gripper opens, closes"),
    ("/", "Type a task; Enter applies it in mid-run"),
    ("1 – 9", "Send a recent task again"),
    (
        "R",
        "Record: begins a session with the last plan; in a session, the next episode now",
    ),
    ("Enter", "Keep the episode that is being recorded"),
    (
        "Backspace",
        "Drop the episode that is being recorded; with Shift, and record it again",
    ),
    ("S F", "Mark the episode a success, a failure"),
    (
        "← → K",
        "On the page Data: one row back, one on; play or pause",
    ),
    ("L", "Lay the table of the simulated rig as it was"),
    (
        "V",
        "The health of the arm: heat, supply, load and errors of each joint",
    ),
    ("?", "This page"),
    ("Ctrl + / Ctrl −", "Larger or smaller"),
];

const DIGITS: [Key; 9] = [
    Key::Num1,
    Key::Num2,
    Key::Num3,
    Key::Num4,
    Key::Num5,
    Key::Num6,
    Key::Num7,
    Key::Num8,
    Key::Num9,
];

/// Reads the keys before any widget sees them, so that a focused button cannot swallow a stop.
pub fn keys_ui(ctx: &Context, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let is_typing = ctx.text_edit_focused();
    let stop = take_press(ctx, Key::Escape) | (!is_typing && take_press(ctx, Key::Space));
    if stop {
        commands.push(Command::Stop);
        draft.asks_to_release = false;
    }
    if is_typing {
        return;
    }
    let now = ctx.input(|input| input.time);
    for (key, mode) in [
        (Key::H, Mode::Hold),
        (Key::P, Mode::Policy),
        (Key::J, Mode::Jog),
    ] {
        if take_plain(ctx, key) {
            match mode_obstacle(snapshot, mode) {
                None => commands.push(Command::SetMode(mode)),
                Some(why) => draft.notify(why, now),
            }
        }
    }
    if take_plain(ctx, Key::T) {
        match takeover_obstacle(snapshot) {
            None => commands.push(Command::Takeover),
            Some(why) => draft.notify(why, now),
        }
    }
    for (i, key) in DIGITS.into_iter().enumerate() {
        if take_plain(ctx, key)
            && let Some(task) = draft.preferences.tasks.get(i).cloned()
        {
            commands.push(Command::SetTask(task.clone()));
            draft.task.text = task;
        }
    }
    record_keys(ctx, snapshot, draft, commands);
    if snapshot.rig.is_some() && take_plain(ctx, Key::L) {
        commands.push(Command::Rig(RigOrder::Reset { seed: None }));
    }
    if take_plain(ctx, Key::V) {
        draft.shows_health = !draft.shows_health;
    }
    if take_plain(ctx, Key::Questionmark) {
        draft.page = if draft.page == Page::Help {
            Page::Cockpit
        } else {
            Page::Help
        };
    }
    if take_plain(ctx, Key::Slash) {
        draft.page = Page::Cockpit;
        draft.task.wants_focus = true;
        // The field would otherwise begin with the slash that opened it.
        ctx.input_mut(|input| {
            input
                .events
                .retain(|event| !matches!(event, Event::Text(text) if text == "/"));
        });
    }
}

/// The keys of a recording, while there is a recorder.
fn record_keys(ctx: &Context, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let Some(session) = snapshot.session.as_deref() else {
        return;
    };
    if session.phase == SessionPhase::Off {
        if take_plain(ctx, Key::R) {
            begin(snapshot, draft, commands);
        }
        return;
    }
    for (modifiers, key, meaning) in [
        (Modifiers::NONE, Key::R, RecordKey::Record),
        (Modifiers::NONE, Key::Enter, RecordKey::Keep),
        (Modifiers::SHIFT, Key::Backspace, RecordKey::Redo),
        (Modifiers::NONE, Key::Backspace, RecordKey::Discard),
        (Modifiers::NONE, Key::S, RecordKey::Mark(Outcome::Success)),
        (Modifiers::NONE, Key::F, RecordKey::Mark(Outcome::Failure)),
    ] {
        let order = ordered_by_key(session, meaning);
        // Enter also presses what has the focus; it is taken only while it means something here.
        if key == Key::Enter && order.is_err() {
            continue;
        }
        if ctx.input_mut(|input| input.consume_key(modifiers, key)) {
            match order {
                Ok(order) => commands.push(Command::Session(order)),
                Err(why) => draft.notify(why, ctx.input(|input| input.time)),
            }
        }
    }
}

/// Takes every press of a key, with whatever modifiers a panicking hand holds down.
fn take_press(ctx: &Context, wanted: Key) -> bool {
    ctx.input_mut(|input| {
        let before = input.events.len();
        input.events.retain(
            |event| !matches!(event, Event::Key { key, pressed: true, .. } if *key == wanted),
        );
        before != input.events.len()
    })
}

fn take_plain(ctx: &Context, key: Key) -> bool {
    ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key))
}
