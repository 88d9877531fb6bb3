//! Giving servos their numbers: the machine of the steps and the line on which one servo at a time is plugged in.

use crate::arm::bus::BAUD_RATES;
use crate::arm::workbench::Workbench;
use crate::arm::workbench::numbering::{Lone, Numbered, Numbering, OnLine, Verdict};
use crate::arm::{ErrorKind, Role};
use crate::runtime::workshop::Order;
use crate::runtime::workshop::survey::trouble_of;
use crate::runtime::workshop::view::{NumberingView, Trouble};

/// One line, one servo after the other.
pub struct NumberingJob {
    bench: Workbench,
    port: String,
    steps: Numbering,
    /// The baud rate that is listened at next, while a servo is looked for.
    rate: Option<usize>,
    found: Option<Lone>,
    verdict: Option<Verdict>,
    chain: Option<Vec<String>>,
    /// What the servo on the line did not take.
    trouble: Option<Trouble>,
}

impl NumberingJob {
    /// Begins with the gripper's servo. Nothing is asked of the line yet.
    pub fn new(bench: Workbench, port: String, role: Role) -> Self {
        Self {
            bench,
            port,
            steps: Numbering::new(role),
            rate: None,
            found: None,
            verdict: None,
            chain: None,
            trouble: None,
        }
    }

    /// A servo is being looked for.
    pub fn is_hunting(&self) -> bool {
        self.rate.is_some()
    }

    /// An order about the steps.
    pub fn obey(&mut self, order: &Order) -> Result<(), Trouble> {
        self.trouble = None;
        match order {
            Order::Next if self.steps.wanted().is_some() => {
                (self.rate, self.verdict, self.found) = (Some(0), None, None);
                Ok(())
            }
            Order::Next => self.check_chain(),
            Order::Insist => match (self.found.take(), &self.verdict) {
                (Some(lone), Some(Verdict::Foreign(_))) => self.number(&lone),
                _ => Ok(()),
            },
            Order::Back => {
                self.steps.back();
                (self.rate, self.verdict, self.chain) = (None, None, None);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Listens at one baud rate, and numbers what is found.
    pub fn turn(&mut self) -> Result<(), Trouble> {
        let Some(rate) = self.rate else { return Ok(()) };
        let heard = self.bench.listen_at(rate);
        let heard = heard.map_err(|error| trouble_of(&error))?;
        if heard == OnLine::Nobody && rate + 1 < BAUD_RATES.len() {
            self.rate = Some(rate + 1);
            return Ok(());
        }
        self.rate = None;
        self.bench.at_arm_rate();
        let verdict = self.steps.judge(&heard);
        match (heard, verdict) {
            (_, Verdict::Right) => self.steps.numbered(Numbered::Already),
            (OnLine::One(lone), Verdict::Number(_)) => return self.number(&lone),
            (OnLine::One(lone), verdict) => {
                self.found = Some(lone);
                self.verdict = Some(verdict);
            }
            (_, verdict) => self.verdict = Some(verdict),
        }
        Ok(())
    }

    /// Gives the servo on the line the wanted number. One that does not take it is said so and may be tried again; an error
    /// means that the port is gone.
    fn number(&mut self, lone: &Lone) -> Result<(), Trouble> {
        self.verdict = None;
        let Some(wanted) = self.steps.wanted() else {
            return Ok(());
        };
        match self.bench.renumber(lone, wanted.id) {
            Ok(()) => {
                log::info!("{}: servo {} is {wanted} now", self.port, lone.id);
                self.steps.numbered(Numbered::From(lone.id));
                Ok(())
            }
            Err(error) if matches!(error.kind, ErrorKind::Disconnected(_)) => {
                Err(trouble_of(&error))
            }
            Err(error) => {
                self.trouble = Some(Trouble {
                    remedy: "Press Next to look at it again: it may have its new number all the same. If it stays so, power the servo off and on"
                        .to_owned(),
                    ..trouble_of(&error)
                });
                Ok(())
            }
        }
    }

    /// All six in a chain: does each answer under its number?
    fn check_chain(&mut self) -> Result<(), Trouble> {
        let census = self.bench.census().map_err(|error| trouble_of(&error))?;
        self.chain = Some(census.complaints());
        Ok(())
    }

    /// What there is to see.
    pub fn view(&self) -> NumberingView {
        NumberingView {
            port: self.port.clone(),
            role: self.steps.role(),
            wanted: self.steps.wanted(),
            done: self.steps.done(),
            hunting: self.rate.map(|rate| rate as f32 / BAUD_RATES.len() as f32),
            verdict: self.verdict.clone(),
            chain: self.chain.clone(),
            trouble: self.trouble.clone(),
        }
    }
}
