//! A rig on which time passes slowly: everything goes on as ever, a stop is heard at once, and a real arm never sees any of it.

use std::sync::Arc;

use smolpilot::arm::Role;
use smolpilot::clock::Clock;
use smolpilot::latest::Latest;
use smolpilot::runtime::{ArmSource, Command, FaultKind, Mode, RigOrder, Sources};
use smolpilot::sim::SimArm;

use crate::flight::{FAR, START};
use crate::stand::{Stand, armed, connected, connector, fault, rig_that};

const SLOW: Command = Command::Rig(RigOrder::Speed(0.1));

fn real() -> ArmSource {
    ArmSource::Port {
        path: "COM5".to_owned(),
        id: "blue".to_owned(),
    }
}

/// An arm on a clock of changing rate; `met` hears the rate at which an arm that is chosen later is connected.
fn on_paced_clock(met: &Latest<f32>) -> Stand {
    let clock = Clock::paced();
    let (arm, other) = (SimArm::new(clock.clone()), SimArm::new(clock.clone()));
    let met = met.clone();
    Stand::with(arm, START, move |setup| {
        setup.rig = Some(rig_that(|| {}));
        setup.sources = Sources {
            follower: Some(ArmSource::Simulated),
            leader: None,
        };
        setup.supply = Some(Arc::new(move |_, _| {
            let (met, clock, mut connect) = (met.clone(), clock.clone(), connector(&other));
            Box::new(move || {
                met.set(clock.rate());
                connect()
            })
        }));
    })
}

#[test]
fn a_slow_rig_flies_and_stops() {
    let stand = on_paced_clock(&Latest::new());
    stand.until("connected", connected);
    stand.tell(Command::EnableTorque);
    stand.until("armed", armed);
    stand.tell(SLOW);
    stand.tell(Command::SetMode(Mode::Policy));
    stand.mood.set(crate::scripted::Mood::Pose(FAR));
    let seen = stand.until("driven", |seen| {
        seen.chunks > 0 && seen.mode == Mode::Policy
    });
    assert_eq!(stand.clock.rate(), 0.1);
    stand.until("in motion", |later| {
        later.measured.max_abs_diff(seen.measured) > 1.0
    });
    stand.runtime.estop.press();
    stand.until("stopped", |seen| {
        seen.stopped.as_ref().is_some_and(|stop| stop.acknowledged)
    });
    assert!(fault(&stand.snapshot(), FaultKind::LoopStalled).is_none());
    stand.assert_holds(3);
}

#[test]
fn a_real_arm_is_connected_at_lifes_rate_and_knows_no_other() {
    let met = Latest::new();
    let stand = on_paced_clock(&met);
    stand.until("connected", connected);
    stand.tell(SLOW);
    stand.until("slow", |_| stand.clock.rate() == 0.1);
    // In one tick with another wish for slow motion, before and after it.
    stand.tell(SLOW);
    stand.tell(Command::UseArm(Role::Follower, Some(real())));
    stand.tell(SLOW);
    stand.until("connected", |seen| {
        // In the tick of the change the arm before is still the one that answers.
        met.get().is_some() && seen.sources.follower == Some(real()) && connected(seen)
    });
    assert_eq!(met.get().as_deref(), Some(&1.0));
    stand.tell(SLOW);
    let (seen, told) = stand.until_fault(FaultKind::Rig);
    assert!(told.what.contains("real arm"), "{}", told.what);
    assert_eq!((stand.clock.rate(), &seen.rig), (1.0, &None));
}
