//! The simulated rig as the operator's orders reach it: another table is another episode, the task on it is the task in force,
//! and nothing of it, slow motion least of all, touches a real arm.

use std::sync::Arc;
use std::time::Duration;

use crate::arm::Role;
use crate::runtime::core::{Control, Outputs};
use crate::runtime::fault_book::{Words, words};
use crate::runtime::{ArmSource, FaultKind, Mode, RigOrder, RigView};

/// The rate of time beside a real arm, and at the end of the program.
pub(super) const LIFE: f32 = 1.0;
/// How long the policy is not asked after an order for another table, if nobody says that it is laid.
const LAYING: Duration = Duration::from_millis(200);

/// What the core knows of the rig.
#[derive(Debug, Default)]
pub(super) struct Rig {
    /// How it is, while its arm is the one that is flown.
    pub view: Option<Arc<RigView>>,
    /// The task that its referee judges by.
    judged: Option<String>,
    /// How often the table was laid, as last told.
    laid: Option<u64>,
    /// The table is being laid: what is seen of it now is soon no more. Until then at most.
    laying: Option<Duration>,
    /// The policy drove it when another was chosen, which goes on as soon as it is there.
    pub goes_on: bool,
}

impl Control {
    /// Passes an order on, and does what else it means.
    pub(super) fn order_rig(&mut self, order: RigOrder, outputs: &mut Outputs) {
        if let Some(told) = self.obstacle_to_order(&order) {
            let kind = FaultKind::Rig;
            self.faults.flash(self.now, kind, "order", told);
            return;
        }
        match &order {
            RigOrder::Speed(rate) => {
                outputs.rate = Some(*rate);
                self.sample.changed = true;
                return;
            }
            // The referee hears the task from the core alone: it judges what the policy is told.
            RigOrder::Judge { .. } => return,
            RigOrder::Lay { task } => {
                self.task.clone_from(task);
                self.rig.judged = Some(task.clone());
                self.begin_on_new_table();
            }
            RigOrder::Reset { .. } => self.begin_on_new_table(),
            RigOrder::Repeat(_) | RigOrder::Drag { .. } | RigOrder::LetGo { .. } => {}
        }
        outputs.rig.push(order);
    }

    fn begin_on_new_table(&mut self) {
        self.reset();
        self.rig.laying = Some(self.now + LAYING);
    }

    /// Takes in how the rig is. A table that was laid by itself is another episode, too.
    pub(super) fn see_rig(&mut self, view: Option<Arc<RigView>>) {
        self.rig.view = view;
        let Some(laid) = self.rig.view.as_ref().map(|view| view.laid) else {
            return;
        };
        let before = self.rig.laid.replace(laid);
        let is_new = before.is_some_and(|before| before != laid);
        if is_new && self.rig.laying.take().is_none() {
            self.reset();
        }
    }

    /// Whether the table is being laid: no policy is asked about one that is soon no more.
    pub(super) fn is_laying(&mut self) -> bool {
        self.rig.laying = self.rig.laying.filter(|until| self.now < *until);
        self.rig.laying.is_some()
    }

    /// Tells the referee the task in force, if it has not heard of it.
    pub(super) fn tell_referee(&mut self, outputs: &mut Outputs) {
        if self.rig.view.is_some() && self.rig.judged.as_ref() != Some(&self.task) {
            let task = self.task.clone();
            self.rig.judged = Some(task.clone());
            outputs.rig.push(RigOrder::Judge { task });
        }
    }

    /// A real arm is to be taken: time goes on at life's rate before it is connected.
    pub(super) fn meet_real_arm(&mut self, outputs: &mut Outputs) {
        outputs.rate = Some(LIFE);
        self.rig.view = None;
    }

    /// Why the loaded policy cannot drive the arm in use, if so.
    pub(super) fn policy_obstacle(&self) -> Option<Words> {
        let plans_with_truth = self.supervisor.spec()?.plans_with_truth;
        (plans_with_truth && self.sources.is_real(Role::Follower)).then(|| {
            words(
                "the policy plans with where things truly are on the simulated table, which says nothing about a real one",
                "Load a policy that looks at pictures, or fly the simulated arm.",
            )
        })
    }

    /// Another policy was chosen; on the rig it drives on by itself if the one before did.
    pub(super) fn drives_on_rig(&self) -> bool {
        let is_rig = self.sources.follower == Some(ArmSource::Simulated);
        is_rig && (self.mode == Mode::Policy || self.rig.goes_on)
    }

    /// The new policy is there: it drives, unless somebody had something else in mind meanwhile.
    pub(super) fn go_on_with_policy(&mut self) {
        let goes_on = std::mem::take(&mut self.rig.goes_on);
        let is_free = self.mode == Mode::Hold && self.parking.is_none();
        if goes_on && is_free && self.arm.armed {
            self.set_mode(Mode::Policy);
        }
    }

    fn obstacle_to_order(&self, order: &RigOrder) -> Option<Words> {
        if self.sources.is_real(Role::Follower) {
            let what = format!("{order} was asked for, but a real arm is flown");
            let remedy = "Choose the simulated arm first (Set-up, Arms).";
            return Some(words(what, remedy));
        }
        if matches!(order, RigOrder::Speed(_)) && self.sources.is_real(Role::Leader) {
            let remedy = "Disconnect the leader first (Set-up, Arms).";
            let what = format!("{order} was asked for, but the leader is a real arm");
            return Some(words(what, remedy));
        }
        self.rig.view.is_none().then(|| {
            let what = format!("{order} was asked for, but there is no simulated rig");
            words(what, "Start the program with --rig.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicySpec;
    use crate::runtime::core::bench::{Bench, flying};
    use crate::runtime::supervisor::PolicyEvent;
    use crate::runtime::{Command, Connection};

    fn port() -> ArmSource {
        ArmSource::Port {
            path: "COM5".to_owned(),
            id: "blue".to_owned(),
        }
    }

    fn on_rig() -> Bench {
        let mut bench = flying(400);
        bench.control.sources.follower = Some(ArmSource::Simulated);
        bench.rig_orders.clear();
        bench
    }

    fn ordered(bench: &mut Bench, order: RigOrder) -> Vec<RigOrder> {
        bench.tick(vec![Command::Rig(order)]);
        std::mem::take(&mut bench.rig_orders)
    }

    fn judge(task: &str) -> RigOrder {
        let task = task.to_owned();
        RigOrder::Judge { task }
    }

    #[test]
    fn the_referee_hears_of_each_task_once() {
        let mut bench = flying(50);
        assert_eq!(bench.rig_orders, [judge("put the cube in the box")]);
        bench.tick(vec![Command::SetTask("stack".to_owned())]);
        bench.run(1.0);
        assert_eq!(bench.rig_orders[1..], [judge("stack")]);
        assert_eq!(
            ordered(&mut bench, judge("sort")),
            [judge("put the cube in the box"), judge("stack")]
        );
        assert_eq!(
            bench.seen.task, "stack",
            "nobody else speaks to the referee"
        );
    }

    #[test]
    fn another_table_is_another_episode() {
        for order in [
            RigOrder::Reset { seed: None },
            RigOrder::Reset { seed: Some(3) },
        ] {
            let mut bench = on_rig();
            bench.until(3.0, |bench| bench.seen.queue.requested_at.is_some());
            let (generation, asked) = (bench.seen.generation, bench.requests.len());
            assert_eq!(ordered(&mut bench, order.clone()), [order]);
            assert_eq!(bench.seen.generation, generation + 1);
            assert_eq!(bench.seen.mode, Mode::Policy);
            assert!(
                bench.seen.queue.upcoming.is_empty(),
                "the plan was for another table"
            );
            bench.until(2.0, |bench| bench.requests.len() > asked);
            assert_eq!(bench.requests[asked].generation, generation + 1);
        }
    }

    #[test]
    fn the_policy_is_asked_about_the_new_table_and_once() {
        let mut bench = on_rig();
        bench.latency = Duration::from_millis(50);
        bench.run(1.0);
        let laid = |laid| {
            Some(Arc::new(RigView {
                laid,
                ..RigView::default()
            }))
        };
        let (generation, asked) = (bench.seen.generation, bench.requests.len());
        ordered(&mut bench, RigOrder::Reset { seed: None });
        bench.run(0.1);
        assert_eq!(
            bench.requests.len(),
            asked,
            "not about a table that is soon no more"
        );
        bench.rig = laid(1);
        bench.tick(vec![]);
        assert_eq!(bench.requests.len(), asked + 1);
        bench.run(1.0);
        assert_eq!(bench.seen.generation, generation + 1);
        // Laid anew by itself, after a success.
        bench.rig = laid(2);
        bench.run(1.0);
        assert_eq!(bench.seen.generation, generation + 2);
        assert_eq!(bench.seen.mode, Mode::Policy);
    }

    #[test]
    fn a_table_laid_for_a_task_makes_it_the_task_in_force() {
        let mut bench = on_rig();
        let generation = bench.seen.generation;
        let task = "stack the red cube on the blue cube".to_owned();
        let lay = RigOrder::Lay { task: task.clone() };
        assert_eq!(
            ordered(&mut bench, lay.clone()),
            [lay],
            "that says the task, too"
        );
        assert_eq!(
            (&bench.seen.task, bench.seen.generation),
            (&task, generation + 1)
        );
        bench.run(2.0);
        assert_eq!(
            bench.requests.last().map(|it| it.observation.task.clone()),
            Some(task)
        );
    }

    #[test]
    fn a_cube_is_dragged_while_the_policy_drives_on() {
        let mut bench = on_rig();
        let generation = bench.seen.generation;
        let drag = RigOrder::Drag {
            cube: 0,
            x: 0.2,
            y: 0.1,
        };
        assert_eq!(ordered(&mut bench, drag.clone()), [drag]);
        let go = RigOrder::LetGo { cube: 0 };
        assert_eq!(ordered(&mut bench, go.clone()), [go]);
        assert_eq!(
            (bench.seen.generation, bench.seen.mode),
            (generation, Mode::Policy)
        );
    }

    #[test]
    fn nothing_of_the_rig_is_done_beside_a_real_arm() {
        let orders = [
            RigOrder::Reset { seed: None },
            RigOrder::Lay {
                task: "stack".to_owned(),
            },
            RigOrder::Speed(0.1),
            RigOrder::Drag {
                cube: 0,
                x: 0.2,
                y: 0.0,
            },
        ];
        for order in orders {
            let mut bench = flying(50);
            bench.control.sources.follower = Some(port());
            let seen = bench.seen.clone();
            bench.rig_orders.clear();
            assert_eq!(ordered(&mut bench, order), []);
            assert!(bench.rates.is_empty());
            assert_eq!(
                (&bench.seen.task, bench.seen.generation),
                (&seen.task, seen.generation)
            );
            let told = bench.fault(FaultKind::Rig).map(|it| it.what.clone());
            assert!(told.is_some_and(|it| it.contains("real arm is flown")));
        }
        let mut led = on_rig();
        led.control.sources.leader = Some(port());
        ordered(&mut led, RigOrder::Speed(0.1));
        assert!(
            led.rates.is_empty(),
            "a leader's bus has its deadlines, too"
        );
        led.control.rig.view = None;
        led.rig = None;
        led.tick(vec![]);
        ordered(&mut led, RigOrder::Reset { seed: None });
        let told = led.fault(FaultKind::Rig).map(|it| it.what.clone());
        assert!(told.is_some_and(|it| it.contains("no simulated rig")));
    }

    #[test]
    fn time_goes_at_lifes_rate_again_before_a_real_arm_is_taken() {
        for role in Role::ALL {
            let mut bench = on_rig();
            assert_eq!(
                ordered(&mut bench, RigOrder::Speed(0.1)),
                [],
                "the clock is the loop's"
            );
            assert_eq!(bench.rates, [0.1]);
            let take = Command::UseArm(role, Some(port()));
            // Whatever stands beside it in the same tick.
            let slow = Command::Rig(RigOrder::Speed(0.25));
            bench.tick(vec![slow.clone(), take, slow]);
            assert_eq!(bench.arms.last(), Some(&(role, Some(port()))));
            assert_eq!(bench.rates, [0.1, 1.0], "{role}");
        }
    }

    #[test]
    fn the_end_of_the_program_is_not_waited_for_in_slow_motion() {
        let mut bench = on_rig();
        ordered(&mut bench, RigOrder::Speed(0.1));
        bench.tick(vec![Command::Shutdown]);
        assert_eq!(bench.rates, [0.1, 1.0]);
    }

    #[test]
    fn a_policy_that_knows_the_rigs_truth_never_drives_a_real_arm() {
        let mut bench = flying(50);
        let event = PolicyEvent::Ready {
            spec: Arc::new(PolicySpec {
                plans_with_truth: true,
                ..bench.seen.spec.as_deref().cloned().unwrap_or_default()
            }),
            warm_up: Duration::ZERO,
        };
        bench.report(Duration::ZERO, event);
        bench.tick(vec![Command::SetMode(Mode::Hold)]);
        bench.tick(vec![Command::SetMode(Mode::Policy)]);
        assert_eq!(bench.seen.mode, Mode::Policy, "on the rig it does");
        bench.tick(vec![Command::SetMode(Mode::Jog)]);
        bench.control.sources.follower = Some(port());
        for command in [
            Command::Takeover,
            Command::SetMode(Mode::Hold),
            Command::SetMode(Mode::Policy),
        ] {
            bench.tick(vec![command]);
            assert_ne!(bench.seen.mode, Mode::Policy);
        }
        let told = bench.fault(FaultKind::Rig).map(|it| it.what.clone());
        assert!(told.is_some_and(|it| it.contains("simulated table")));
    }

    #[test]
    fn on_the_rig_another_policy_drives_on_by_itself_and_a_stop_is_a_stop() {
        let load = || Command::LoadPolicy("another".to_owned());
        let mut bench = on_rig();
        bench.load_time = Duration::from_secs(1);
        bench.tick(vec![load()]);
        assert_eq!(bench.seen.mode, Mode::Hold, "nobody drives meanwhile");
        bench.run(0.5);
        bench.tick(vec![load()]);
        bench.until(3.0, |bench| bench.seen.mode == Mode::Policy);
        let others: [fn(&mut Bench); 3] = [
            |bench| bench.presses += 1,
            |bench| {
                bench.tick(vec![Command::SetMode(Mode::Hold)]);
            },
            |bench| bench.control.sources.follower = Some(port()),
        ];
        for (i, other) in others.into_iter().enumerate() {
            let mut bench = on_rig();
            if i == 2 {
                other(&mut bench);
            }
            bench.load_time = Duration::from_secs(1);
            bench.tick(vec![load()]);
            if i < 2 {
                other(&mut bench);
            }
            bench.run(3.0);
            assert_eq!(bench.seen.mode, Mode::Hold, "{i}");
            assert_eq!(
                bench.seen.connection,
                Connection::Connected { torque: true }
            );
        }
    }
}
