//! `smolpilot setup`: which port, and the servos' numbers, one servo after the other.

use std::io::Write;

use anyhow::bail;

use super::keyboard::Said;
use super::{Talk, begin, leave, words};
use crate::arm::Role;
use crate::arm::workbench::finding::Finding;
use crate::arm::workbench::numbering::{Numbered, Verdict, gears};
use crate::cli::args::SetupArgs;
use crate::cli::output::Outcome;
use crate::joint::Joint;
use crate::runtime::workshop::{Activity, NumberingView, Order, Shop};

/// Setting an arm up in the terminal.
pub struct Setup {
    role: Role,
    /// What was said last, so that it is said once.
    told: String,
}

impl Setup {
    /// Begins to look for the port, or goes to work on the one that was named.
    ///
    /// # Errors
    /// The port cannot be opened; says why and what to do.
    pub fn begin(shop: &mut Shop, args: &SetupArgs) -> anyhow::Result<Self> {
        let role = args.role;
        let order = match args.port.clone() {
            Some(port) => Order::SetIds { port, role },
            None => Order::FindPort,
        };
        begin(shop, order)?;
        Ok(Self {
            role,
            told: String::new(),
        })
    }

    /// Says something that was not said last.
    fn tell(&mut self, text: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.told != text {
            writeln!(out, "{text}")?;
            text.clone_into(&mut self.told);
        }
        Ok(())
    }

    fn find(
        &mut self,
        finding: &Finding,
        shop: &mut Shop,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        match finding {
            Finding::Unplug { .. } => self.tell(
                "Pull the arm's USB cable out of this computer (or plug it in, if it is not).",
                out,
            ),
            Finding::Replug { gone, .. } => self.tell(
                &format!("{} is gone. Put the cable in again.", gone.path),
                out,
            ),
            Finding::Several(_) => {
                self.tell(
                    "Several ports changed at once: pull out one plug alone.",
                    out,
                )?;
                shop.obey(Order::FindPort);
                Ok(())
            }
            Finding::Found(port) => {
                self.tell(&format!("The arm is on {}.", port.path), out)?;
                let (port, role) = (port.path.clone(), self.role);
                begin(shop, Order::SetIds { port, role })?;
                Ok(())
            }
        }
    }

    /// Says what this step asks for; true when all is done.
    fn number(&mut self, view: &NumberingView, out: &mut dyn Write) -> anyhow::Result<bool> {
        if view.hunting.is_some() {
            return Ok(false);
        }
        let mut lines = vec![done_words(view)];
        lines.extend(view.trouble.as_ref().map(words));
        lines.extend(view.verdict.as_ref().and_then(verdict_words));
        let is_whole = view.wanted.is_none() && view.chain.as_ref().is_some_and(Vec::is_empty);
        lines.push(asked_words(view));
        lines.retain(|line| !line.is_empty());
        let text = lines.join("\n");
        self.tell(&text, out)?;
        Ok(is_whole)
    }
}

impl Talk for Setup {
    fn turn(
        &mut self,
        shop: &mut Shop,
        said: &Said,
        out: &mut dyn Write,
    ) -> anyhow::Result<Option<Outcome>> {
        let seen = shop.view();
        let view = match seen.activity {
            Activity::Finding(finding) => {
                if *said == Said::End || *said == Said::Line("q".to_owned()) {
                    return leave(shop, out);
                }
                self.find(&finding, shop, out)?;
                return Ok(None);
            }
            Activity::Numbering(view) => view,
            _ => match seen.trouble {
                Some(trouble) => bail!("{}", words(&trouble)),
                None => return leave(shop, out),
            },
        };
        if self.number(&view, out)? {
            return Ok(Some(Outcome::Done));
        }
        let order = match said {
            Said::Nothing => return Ok(None),
            Said::End => return leave(shop, out),
            Said::Line(line) => match line.as_str() {
                "" => Order::Next,
                "yes" => Order::Insist,
                "b" => Order::Back,
                "q" => return leave(shop, out),
                _ => {
                    writeln!(out, "Enter: done   b: back   q: leave")?;
                    return Ok(None);
                }
            },
        };
        // Whatever comes of it is news, even if it is the same again.
        self.told.clear();
        shop.obey(order);
        Ok(None)
    }
}

/// What is odd about the servo on the line.
fn verdict_words(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Refused(why) => Some(format!("Not numbered: {why}.")),
        Verdict::Foreign(motor) => Some(format!(
            "This servo has the number {} already: that of {}. Is the one before still plugged in? Then swap it. If this is the right one, type: yes",
            motor.id, motor.joint
        )),
        Verdict::Right | Verdict::Number(_) => None,
    }
}

/// What is to be done next.
fn asked_words(view: &NumberingView) -> String {
    match (&view.wanted, &view.chain) {
        (Some(motor), _) => format!(
            "Plug the servo of {} (gears {}) into the board, and no other, with the power on; then Enter. It gets the number {}.",
            motor.joint,
            gears(view.role, motor.joint),
            motor.id
        ),
        (None, Some(problems)) if problems.is_empty() => {
            format!(
                "All six servos answer. Next: smolpilot calibrate --port {} --role {} --id NAME",
                view.port, view.role
            )
        }
        (None, Some(problems)) => format!(
            "The chain is not right yet: {}. Put it right, then Enter.",
            problems.join("; ")
        ),
        (None, None) => {
            "All six have their numbers. Plug them in one behind the other, shoulder_pan at the board; then Enter."
                .to_owned()
        }
    }
}

/// What has been done so far, on one line.
fn done_words(view: &NumberingView) -> String {
    let done = |(joint, done): (Joint, Option<Numbered>)| match done? {
        Numbered::Already => Some(format!("{joint} (had its number)")),
        Numbered::From(1) => Some(joint.to_string()),
        Numbered::From(id) => Some(format!("{joint} (was {id})")),
    };
    let joints = Joint::ALL.into_iter().zip(view.done).rev();
    let done: Vec<String> = joints.filter_map(done).collect();
    if done.is_empty() {
        return String::new();
    }
    format!("\nDone: {}.", done.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::PortInfo;
    use crate::clock::Clock;
    use crate::runtime::workshop::Tools;
    use crate::sim::{Fault, SimArm};
    use std::sync::Arc;
    use std::time::Duration;

    fn shop(arm: &SimArm) -> Shop {
        let port = arm.clone();
        Shop::new(Tools {
            list: Arc::new(|| {
                vec![PortInfo {
                    path: "/dev/ttyACM0".to_owned(),
                    usb: true,
                    adapter: true,
                    ..PortInfo::default()
                }]
            }),
            open: Arc::new(move |_| Ok(port.port())),
            calibrations: None,
            clock: arm.clock().clone(),
        })
    }

    #[test]
    fn each_servo_is_asked_for_and_the_end_of_the_input_leaves() {
        let arm = SimArm::new(Clock::virtual_at_zero());
        for id in 1..=5 {
            arm.inject(Fault::Mute(id));
        }
        let mut shop = shop(&arm);
        let args = SetupArgs {
            port: Some("/dev/ttyACM0".to_owned()),
            role: Role::Leader,
        };
        let mut talk = Setup::begin(&mut shop, &args).unwrap();
        let mut out = Vec::new();
        let mut say = |said: Said| {
            arm.clock().advance(Duration::from_millis(20));
            shop.turn();
            talk.turn(&mut shop, &said, &mut out).unwrap()
        };
        say(Said::Nothing);
        say(Said::Line(String::new()));
        say(Said::Nothing);
        say(Said::Nothing);
        say(Said::Line("what".to_owned()));
        assert_eq!(say(Said::End), Some(Outcome::Fault));
        let text = String::from_utf8(out).unwrap();
        for part in [
            "the servo of gripper (gears 1:147)",
            "Done: gripper (had its number)",
            "the servo of wrist_roll",
            "b: back",
            "Nothing was written",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(arm.writes(), []);
    }
}
