//! Where arms come and go: the control thread's hold on which arm is flown, and on the workshop that has the others.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::arm::Role;
use crate::camera::Feed;
use crate::clock::Clock;
use crate::latest::Latest;
use crate::runtime::cameras::view_of;
use crate::runtime::leader::{LeaderSeat, LeaderSetup};
use crate::runtime::link::Link;
use crate::runtime::workshop::{Order, Tools, Workshop, WorkshopView};
use crate::runtime::{
    ArmSource, ArmSupply, CameraView, Connector, LeaderView, RigLink, RigOrder, RigView, Sources,
};
use crate::scene::Props;

/// What the bay starts with.
pub struct Stock {
    /// The arms in use.
    pub sources: Sources,
    /// The leader among them, which is read already.
    pub leader: Option<LeaderSeat>,
    pub supply: Option<ArmSupply>,
    pub tools: Option<Tools>,
    /// Names of the cameras that see the pretend arm alone.
    pub pretend_feeds: Vec<String>,
    /// The way to the pretend rig.
    pub rig: Option<RigLink>,
    pub clock: Clock,
}

/// The arms in use, the way to others, and the workshop.
pub struct Bay {
    stock: Stock,
    workshop: Option<Workshop>,
    view: Latest<WorkshopView>,
}

impl Bay {
    /// Starts the workshop, if there are tools for it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(mut stock: Stock) -> io::Result<Self> {
        let workshop = stock.tools.take().map(Workshop::start).transpose()?;
        let view = workshop.as_ref().map(Workshop::view).unwrap_or_default();
        let bay = Self {
            stock,
            workshop,
            view,
        };
        bay.warn_workshop();
        Ok(bay)
    }

    /// Changes arms, then passes orders on. An arm that is let go is gone before the workshop hears of its port, and the
    /// workshop knows of an arm that is taken before its port is opened.
    pub fn obey(
        &mut self,
        arms: Vec<(Role, Option<ArmSource>)>,
        orders: Vec<Order>,
        link: &mut Link,
    ) {
        for (role, source) in arms {
            self.stock.sources.set(role, source);
            match role {
                Role::Follower => self.take_follower(link),
                Role::Leader => self.take_leader(),
            }
        }
        self.warn_workshop();
        for order in orders {
            let heard = self
                .workshop
                .as_ref()
                .is_some_and(|workshop| workshop.order(order.clone()));
            if !heard {
                log::warn!("the workshop is not to be had; this was not heard: {order}");
            }
        }
    }

    /// The way to the arm that is chosen for a role.
    fn connector(&self, role: Role) -> Option<Connector> {
        let source = self.stock.sources.of(role)?;
        let supply = self.stock.supply.as_ref()?;
        Some(supply(role, source))
    }

    /// Gives the link another arm. The port of the one before is closed by that.
    fn take_follower(&self, link: &mut Link) {
        if let Err(error) = link.change(self.connector(Role::Follower)) {
            log::error!("no follower can be connected: {error}");
        }
    }

    /// Reads another leader. The thread of the one before closes its port and ends.
    fn take_leader(&mut self) {
        self.stock.leader = None;
        let Some(connector) = self.connector(Role::Leader) else {
            return;
        };
        let name = self.stock.sources.of(Role::Leader).map(ToString::to_string);
        let setup = LeaderSetup {
            name: name.unwrap_or_default(),
            connector,
        };
        match LeaderSeat::start(setup, self.stock.clock.clone()) {
            Ok(seat) => self.stock.leader = Some(seat),
            Err(error) => log::error!("no leader can be connected: {error}"),
        }
    }

    /// The leader as it is known at `now`.
    pub fn leader(&mut self, now: Duration) -> Option<LeaderView> {
        self.stock.leader.as_mut().map(|leader| leader.view(now))
    }

    /// The ports that are flown are not the workshop's.
    fn warn_workshop(&self) {
        let Some(workshop) = &self.workshop else {
            return;
        };
        let ports = Role::ALL.into_iter().filter_map(|role| {
            let source = self.stock.sources.of(role)?;
            source.port().map(str::to_owned)
        });
        if !workshop.driven(ports.collect()) {
            log::error!("the workshop cannot be told which ports are in use");
        }
    }

    /// What the workshop shows.
    pub fn workshop(&self) -> Arc<WorkshopView> {
        self.view.get().unwrap_or_default()
    }

    /// The cameras: all of them beside the pretend arm, beside a real one those that can see it. A policy that was shown a
    /// pretend table would move a real arm over it.
    pub fn views(&self, feeds: &[Feed], now: Duration) -> Vec<CameraView> {
        let is_shown =
            |feed: &&Feed| self.is_pretended() || !self.stock.pretend_feeds.contains(&feed.name);
        feeds
            .iter()
            .filter(is_shown)
            .map(|feed| view_of(feed, now))
            .collect()
    }

    /// What lies on the pretend table, while that is the table.
    pub fn props(&self, props: &Latest<Props>) -> Arc<Props> {
        if self.is_pretended() {
            props.get().unwrap_or_default()
        } else {
            Arc::default()
        }
    }

    /// How the pretend rig is, while its arm is the one that is flown.
    pub fn rig(&self) -> Option<Arc<RigView>> {
        let rig = self.stock.rig.as_ref().filter(|_| self.is_pretended())?;
        Some(rig.view.get().unwrap_or_default())
    }

    /// Passes orders on to the pretend rig.
    pub fn tell_rig(&mut self, orders: Vec<RigOrder>) {
        if let Some(rig) = &mut self.stock.rig {
            orders.into_iter().for_each(&mut rig.order);
        }
    }

    /// No real arm is flown.
    fn is_pretended(&self) -> bool {
        !self.stock.sources.is_real(Role::Follower)
    }
}
