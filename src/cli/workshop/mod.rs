//! The workshop in a terminal: the same steps as in the window, said in text and answered with Enter.

mod calibrate;
pub mod keyboard;
mod setup;

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use anyhow::bail;

use crate::app::ending;
use crate::cli::args::{CalibrateArgs, SetupArgs};
use crate::cli::output::Outcome;
use crate::clock::Clock;
use crate::runtime::workshop::{Order, Shop, Tools, Trouble, WorkshopView};

use calibrate::Calibration;
use keyboard::{Keyboard, Said};
use setup::Setup;

/// Between two looks at the servos.
const TURN: Duration = Duration::from_millis(20);

/// One thing that is done in the terminal, a turn at a time.
trait Talk {
    /// Takes what was said since the last turn and prints what there is to say; the outcome when it is over.
    fn turn(
        &mut self,
        shop: &mut Shop,
        said: &Said,
        out: &mut dyn Write,
    ) -> anyhow::Result<Option<Outcome>>;
}

/// `smolpilot calibrate`
pub fn calibrate(args: &CalibrateArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let clock = Clock::real();
    let mut shop = Shop::new(Tools::of_machine(clock.clone()));
    let mut keyboard = Keyboard::of_stdin(args.yes)?;
    let talk = Calibration::begin(&mut shop, args, io::stdout().is_terminal())?;
    converse(talk, &mut shop, &mut keyboard, &clock, out)
}

/// `smolpilot setup`
pub fn setup(args: &SetupArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let clock = Clock::real();
    let mut shop = Shop::new(Tools::of_machine(clock.clone()));
    let mut keyboard = Keyboard::of_stdin(false)?;
    let talk = Setup::begin(&mut shop, args)?;
    converse(talk, &mut shop, &mut keyboard, &clock, out)
}

/// Turn after turn until it is over, or Ctrl-C ends it: between two turns, never in the middle of what is being written.
/// What is open is closed when the shop goes.
fn converse(
    mut talk: impl Talk,
    shop: &mut Shop,
    keyboard: &mut Keyboard,
    clock: &Clock,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    ending::listen();
    loop {
        // Asked before the turn: what is saved in it is told in the next one.
        let is_over = ending::interrupted();
        shop.turn();
        if let Some(outcome) = talk.turn(shop, &keyboard.said()?, out)? {
            return Ok(outcome);
        }
        if is_over {
            writeln!(out)?;
            return leave(shop, out).map(|left| left.unwrap_or(Outcome::Fault));
        }
        out.flush()?;
        clock.sleep_until(clock.now() + TURN);
    }
}

/// Gives an order that must succeed for there to be anything to talk about.
fn begin(shop: &mut Shop, order: Order) -> anyhow::Result<WorkshopView> {
    shop.obey(order);
    let view = shop.view();
    match &view.trouble {
        None => Ok(view),
        Some(trouble) => bail!("{}", words(trouble)),
    }
}

fn words(trouble: &Trouble) -> String {
    let what = trouble.what.trim_end_matches('.');
    match trouble.remedy.as_str() {
        "" => format!("{what}."),
        remedy => format!("{what}. {remedy}"),
    }
}

/// Leaves: nothing was written.
fn leave(shop: &mut Shop, out: &mut dyn Write) -> anyhow::Result<Option<Outcome>> {
    shop.obey(Order::Cancel);
    writeln!(out, "Left. Nothing was written by this step.")?;
    Ok(Some(Outcome::Fault))
}
