//! The servos' end of the wire: hears requests, lets each servo obey and answer in its turn, and spoils what the fault
//! script says.

mod body;
mod faults;
mod obey;

use std::collections::VecDeque;
use std::time::Duration;

use crate::arm::BAUD_RATE;
use crate::arm::packet::{Direction, Parser};
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::latest::Latest;
use crate::sim::build::{Build, Mounting};
use crate::sim::faults::InForce;
use crate::sim::hand::{Gesture, Grip, Hand};
use crate::sim::script::{Act, Playing, Plug, Script};
use crate::sim::servo::SimServo;
use crate::sim::world;
use body::Embodied;
use obey::Answers;

/// A start bit, eight bits and a stop bit.
const BITS_PER_BYTE: u32 = 10;
/// From the end of a request to the first answer, and between answers.
const TURNAROUND: Duration = Duration::from_micros(20);
/// A longer pause between two bytes ends a burst.
const BURST_GAP: Duration = Duration::from_micros(100);
/// Step of the motor models, and of the rest while nothing turns.
const STEP: Duration = Duration::from_millis(1);
const RESTING_STEP: Duration = Duration::from_millis(10);
/// Nobody watches what happened during a longer pause; with a body, whose steps cost more, the loop would wait for it.
const LONGEST_CATCH_UP: Duration = Duration::from_mins(1);
const LONGEST_CATCH_UP_OF_BODY: Duration = Duration::from_secs(2);
/// A servo gives up a request whose rest does not come within this time.
const REQUEST_GAP: Duration = Duration::from_millis(20);
/// Inner resistance of the supply and its leads, ohm: five amperes cost a volt.
const SUPPLY_OHM: f64 = 0.2;
/// Writes that are remembered.
const LOG_LENGTH: usize = 4096;

/// A write that a servo has obeyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRecord {
    /// On the rig's clock.
    pub at: Duration,
    pub id: u8,
    pub address: u8,
    pub bytes: Vec<u8>,
}

/// What has passed over the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Whole, valid requests.
    pub requests: u64,
    /// Answers that the servos gave, whatever became of them.
    pub answers: u64,
    /// Bytes of the host that were part of no valid request.
    pub noise: u64,
    /// Times that a fault struck a transaction.
    pub strikes: u64,
}

/// Six servos on one wire.
#[derive(Debug)]
pub struct SimBus {
    build: Build,
    mounting: Mounting,
    servos: [SimServo; JOINT_COUNT],
    faults: InForce,
    scripts: Vec<Playing>,
    hand: Hand,
    supply_volts: f64,
    /// What the host's port is set to, bits a second.
    baud_rate: u32,
    requests: Parser,
    /// When the host's latest byte came.
    heard: Duration,
    /// Bytes on their way to the host, with the moment at which each is there.
    answers: VecDeque<(Duration, u8)>,
    /// Until when the motor models have run.
    time: Duration,
    log: VecDeque<WriteRecord>,
    traffic: Traffic,
    pose: Latest<JointVec>,
    /// What the servos move; without one their horns turn freely.
    body: Option<Embodied>,
}

impl SimBus {
    /// The servos of `build`, limp, at `now`; `pose` will hold where the joints truly are, robot units.
    pub fn new(build: Build, now: Duration, pose: Latest<JointVec>) -> Self {
        let bus = Self {
            build,
            mounting: Mounting(build.calibration()),
            servos: build.servos(),
            faults: InForce::default(),
            scripts: Vec::new(),
            hand: Hand::default(),
            supply_volts: build.variant().supply_volts(),
            baud_rate: BAUD_RATE,
            requests: Parser::new(Direction::Request),
            heard: now,
            answers: VecDeque::new(),
            time: now,
            log: VecDeque::new(),
            traffic: Traffic::default(),
            pose,
            body: None,
        };
        bus.show();
        bus
    }

    /// The servo of a joint; its id may have been changed.
    pub fn servo(&self, joint: Joint) -> &SimServo {
        &self.servos[joint.index()]
    }

    /// Writes so far, oldest first.
    pub fn log(&self) -> Vec<WriteRecord> {
        self.log.iter().cloned().collect()
    }

    /// What has passed over the wire so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            noise: self.requests.discarded(),
            strikes: self.faults.strikes,
            ..self.traffic
        }
    }

    /// Whether the cable is out.
    pub fn disconnected(&self) -> bool {
        self.faults.disconnected
    }

    /// Begins a fault script at `now`.
    pub fn play(&mut self, script: Script, now: Duration) {
        self.scripts.push(Playing::new(script, now));
        self.act_until(now);
    }

    /// Forgets all scripts.
    pub fn end_scripts(&mut self) {
        self.scripts.clear();
    }

    /// The host has gone: what is on its way to it is lost, and so is the beginning of a request.
    #[cfg(unix)]
    pub fn hang_up(&mut self) {
        self.answers.clear();
        self.requests.finish();
    }

    /// Lets the hand begin something at `now`.
    pub fn hand(&mut self, gesture: Gesture, now: Duration) {
        self.hand.begin(gesture, now);
        for servo in &mut self.servos {
            servo.pull = None;
        }
    }

    /// Plugs motors into the chain or pulls them out.
    pub fn plug(&mut self, plug: Plug) {
        for joint in Joint::ALL {
            let servo = &mut self.servos[joint.index()];
            match plug {
                Plug::All => servo.plug(true),
                Plug::In(one) if one == joint => servo.plug(true),
                Plug::Out(one) if one == joint => servo.plug(false),
                Plug::Only(one) => servo.plug(one == joint),
                Plug::In(_) | Plug::Out(_) => {}
            }
        }
    }

    /// Lets the motors run until `now`.
    pub fn advance(&mut self, now: Duration) {
        let longest = match &self.body {
            Some(_) => LONGEST_CATCH_UP_OF_BODY,
            None => LONGEST_CATCH_UP,
        };
        self.time = self.time.max(now.saturating_sub(longest));
        let mut moved = false;
        while let Some(step) = self.next_step(now) {
            self.time += step;
            self.act_until(self.time);
            self.step(step);
            moved = true;
        }
        if moved {
            self.show();
        }
    }

    /// How long the next step takes, if it is over by `now`.
    fn next_step(&self, now: Duration) -> Option<Duration> {
        let fits = |step: Duration| self.time + step <= now;
        if self.body.is_some() {
            return Some(world::STEP).filter(|step| fits(*step));
        }
        let resting = self.hand.is_still() && self.servos.iter().all(SimServo::is_resting);
        let steps = [RESTING_STEP, STEP];
        let usable = if resting { &steps[..] } else { &steps[1..] };
        usable.iter().copied().find(|step| fits(*step))
    }

    fn step(&mut self, step: Duration) {
        let amperes: f64 = self.servos.iter().map(SimServo::milliamperes).sum::<f64>() / 1000.0;
        let volts = self.supply_volts - amperes * SUPPLY_OHM;
        if !self.hand.is_still() {
            self.lead();
        }
        if let Some(body) = &mut self.body {
            body.step(&mut self.servos, step.as_secs_f64(), volts);
            return;
        }
        for servo in &mut self.servos {
            servo.advance(step.as_secs_f64(), volts);
        }
    }

    /// Tells every joint where the hand takes it.
    fn lead(&mut self) {
        let (mounting, start) = (self.mounting, self.build.start);
        for joint in Joint::ALL {
            let servo = &mut self.servos[joint.index()];
            let grip = Grip {
                encoder: servo.encoder(),
                travel: mounting.travel(joint),
                counts_per_unit: mounting.0.counts_per_unit(joint),
                start: mounting.encoder(joint, start[joint]),
            };
            let counts = |value| mounting.encoder(joint, value);
            servo.pull = self.hand.pull(joint, grip, self.time, counts);
        }
    }

    /// Does what the scripts have for the time until `now`.
    fn act_until(&mut self, now: Duration) {
        if self.scripts.is_empty() {
            return;
        }
        let due = self.scripts.iter_mut().flat_map(|script| script.due(now));
        for act in due.collect::<Vec<_>>() {
            self.act(act, now);
        }
        self.scripts.retain(|script| !script.is_over());
    }

    fn act(&mut self, act: Act, now: Duration) {
        match act {
            Act::Fault(fault) => self.inject(fault),
            Act::Hand(gesture) => self.hand(gesture, now),
            Act::Plug(plug) => self.plug(plug),
        }
    }

    /// Publishes where the joints truly are, whatever the servos say.
    fn show(&self) {
        self.pose.set(JointVec::from_fn(|joint| {
            let encoder = self.servos[joint.index()].encoder();
            self.mounting.value(joint, encoder)
        }));
        if let Some(body) = &self.body {
            body.show(self.time);
        }
    }

    /// The rate that the host's port is set to, bits a second: servos that are set to another one hear nothing.
    pub fn set_baud_rate(&mut self, baud_rate: u32) {
        self.baud_rate = baud_rate;
    }

    fn byte_time(&self) -> Duration {
        Duration::from_secs(1) * BITS_PER_BYTE / self.baud_rate.max(1)
    }

    /// Takes bytes from the host.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) {
        self.advance(now);
        if now.saturating_sub(self.heard) > REQUEST_GAP {
            self.requests.finish();
        }
        self.heard = now;
        let mut arrived = now + self.byte_time() * bytes.len() as u32;
        if self.faults.echo {
            self.answers
                .extend(bytes.iter().map(|byte| (arrived, *byte)));
        }
        self.requests.push(bytes);
        while let Some(request) = self.requests.next_packet() {
            self.traffic.requests += 1;
            self.misfortunes(now);
            let mut answers = if self.faults.loses_request() {
                Answers::default()
            } else {
                self.obey(&request, now)
            };
            self.traffic.answers += answers.frames.len() as u64;
            let late = if answers.frames.is_empty() {
                Duration::ZERO
            } else {
                self.faults.distort(&mut answers.frames)
            };
            self.faults.transaction_ends();
            // Of several requests in one go each is answered behind the one before: bytes of two answers never mix.
            arrived = self.send(&answers, arrived + late).max(arrived);
        }
    }

    /// What script and chance have in store for the transaction that begins.
    fn misfortunes(&mut self, now: Duration) {
        let due = self.scripts.iter_mut().flat_map(Playing::transaction);
        for act in due.collect::<Vec<_>>() {
            self.act(act, now);
        }
        let ids = self.servos.each_ref().map(SimServo::id);
        for fault in self.faults.begin(&ids) {
            self.inject(fault);
        }
    }

    /// Queues answers behind each other on the wire; when the last byte will have arrived.
    fn send(&mut self, answers: &Answers, from: Duration) -> Duration {
        let mut at = from;
        for answer in &answers.frames {
            let id = answer.get(2).copied().unwrap_or(0);
            at = at.max(from + answers.slot * u32::from(id));
            at += TURNAROUND + self.return_delay(id);
            for byte in answer {
                at += self.byte_time();
                self.answers.push_back((at, *byte));
            }
        }
        // A late answer may be overtaken by the answers to a newer request.
        self.answers.make_contiguous().sort_by_key(|(at, _)| *at);
        at
    }

    fn return_delay(&self, id: u8) -> Duration {
        let servo = self.servos.iter().find(|servo| servo.id() == id);
        Duration::from_micros(servo.map_or(0, SimServo::return_delay_us))
    }

    /// Moves bytes that have arrived by `now` into `into`; how many.
    pub fn deliver(&mut self, into: &mut [u8], now: Duration) -> usize {
        let mut count = 0;
        while count < into.len() && !self.faults.disconnected {
            match self.answers.front() {
                Some((at, byte)) if *at <= now => into[count] = *byte,
                _ => break,
            }
            self.answers.pop_front();
            count += 1;
            if let Some(left) = &mut self.faults.disconnect_after {
                *left = left.saturating_sub(1);
                self.faults.disconnected = *left == 0;
            }
        }
        count
    }

    /// How long the host is held up now; once.
    pub fn stall(&mut self) -> Duration {
        std::mem::take(&mut self.faults.stall)
    }

    /// Bytes that have arrived and wait to be read.
    pub fn waiting(&self, now: Duration) -> usize {
        self.answers.iter().take_while(|(at, _)| *at <= now).count()
    }

    /// When the bytes that come next, one close behind the other, will all have arrived: adapters hand over bursts.
    pub fn next_burst(&self) -> Option<Duration> {
        let mut arrivals = self.answers.iter().map(|(at, _)| *at);
        let first = arrivals.next()?;
        let close = |last: &mut Duration, at: Duration| {
            let follows = at.saturating_sub(*last) <= BURST_GAP;
            *last = at;
            follows.then_some(at)
        };
        Some(arrivals.scan(first, close).last().unwrap_or(first))
    }

    /// Throws away what has arrived; what is still on the wire will arrive.
    pub fn clear(&mut self, now: Duration) {
        let waiting = self.waiting(now);
        self.answers.drain(..waiting);
    }
}
