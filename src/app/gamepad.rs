//! The gamepad's thread, and the only file that names gilrs: reads whatever pad is plugged in, with or without a window in
//! front.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use gilrs::ev::state::ButtonData;
use gilrs::{Axis, Button, Error, EventType, GamepadId, Gilrs};

use crate::app::pad::{Grip, Pad, Press};
use crate::clock::Clock;
use crate::latest::Latest;
use crate::runtime::Command;
use crate::ui::InputStatus;

/// The pause between looks while a pad is there, and while none is; what is pressed wakes the thread at once.
const LOOK: Duration = Duration::from_millis(10);
const IDLE_LOOK: Duration = Duration::from_millis(250);

/// Presses the emergency stop.
pub type Stop = Arc<dyn Fn() + Send + Sync>;

/// The running thread. Dropping it ends it at its next look.
pub struct Gamepad {
    status: Latest<InputStatus>,
    _stop: Sender<()>,
}

impl Gamepad {
    /// Starts to look for pads; it speaks through `commands` like an operator, and stops past them.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(commands: Sender<Command>, stop: Stop) -> io::Result<Self> {
        let status = Latest::new();
        let (alive, stopped) = bounded(0);
        let shown = status.clone();
        thread::Builder::new()
            .name("gamepad".to_owned())
            .spawn(move || match Gilrs::new() {
                Ok(pads) => read(pads, &commands, &stop, &shown, &stopped),
                Err(error) => shown.set(InputStatus::Inactive(why_not(&error))),
            })?;
        Ok(Self {
            status,
            _stop: alive,
        })
    }

    /// Which pad there is.
    pub fn status(&self) -> Latest<InputStatus> {
        self.status.clone()
    }
}

fn why_not(error: &Error) -> String {
    match error {
        Error::NotImplemented(_) => "this system offers programs no gamepads".to_owned(),
        other => format!("the system's gamepads cannot be read: {other}"),
    }
}

fn read(
    mut pads: Gilrs,
    commands: &Sender<Command>,
    stop: &Stop,
    status: &Latest<InputStatus>,
    stopped: &Receiver<()>,
) {
    let (clock, mut grip) = (Clock::real(), Grip::default());
    while stopped.try_recv() == Err(TryRecvError::Empty) {
        let is_there = pads.gamepads().next().is_some();
        let pause = if is_there { LOOK } else { IDLE_LOOK };
        let mut presses = Vec::new();
        let mut next = pads.next_event_blocking(Some(pause));
        while let Some(event) = next {
            match event.event {
                EventType::ButtonPressed(Button::East, _) => presses.push(Press::Stop),
                EventType::ButtonPressed(Button::Start, _) => presses.push(Press::Takeover),
                _ => {}
            }
            next = pads.next_event();
        }
        let chosen = chosen(&pads);
        show(&pads, chosen, status);
        let pad = chosen.map_or_else(Pad::default, |id| state(&pads, id));
        for command in grip.react(clock.now(), &pad, &presses) {
            if command == Command::Stop {
                stop();
            }
            if commands.try_send(command).is_err() {
                log::warn!("the control thread took no command from the gamepad");
            }
        }
    }
}

/// The pad whose shoulder button is held, else the first one.
fn chosen(pads: &Gilrs) -> Option<GamepadId> {
    let held = pads.gamepads().find(|(id, _)| state(pads, *id).is_held);
    held.or_else(|| pads.gamepads().next()).map(|(id, _)| id)
}

fn show(pads: &Gilrs, chosen: Option<GamepadId>, status: &Latest<InputStatus>) {
    let now = chosen.map_or(InputStatus::Off, |id| {
        InputStatus::Active(pads.gamepad(id).name().to_owned())
    });
    if status.get().as_deref() != Some(&now) {
        log::info!("gamepad: {now:?}");
        status.set(now);
    }
}

fn state(pads: &Gilrs, id: GamepadId) -> Pad {
    let pad = pads.gamepad(id);
    let trigger = |button| pad.button_data(button).map_or(0.0, ButtonData::value);
    let down = |button| f32::from(u8::from(pad.is_pressed(button)));
    Pad {
        is_held: pad.is_pressed(Button::LeftTrigger) || pad.is_pressed(Button::RightTrigger),
        left: [pad.value(Axis::LeftStickX), pad.value(Axis::LeftStickY)],
        right: [pad.value(Axis::RightStickX), pad.value(Axis::RightStickY)],
        tilt: down(Button::DPadUp) - down(Button::DPadDown),
        open: trigger(Button::LeftTrigger2),
        close: trigger(Button::RightTrigger2),
    }
}
