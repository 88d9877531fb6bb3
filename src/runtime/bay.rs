//! Where arms come and go: the control thread's hold on which arm is flown, and on the workshop that has the others.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::arm::Role;
use crate::camera::Feed;
use crate::latest::Latest;
use crate::runtime::cameras::view_of;
use crate::runtime::link::Link;
use crate::runtime::workshop::{Order, Tools, Workshop, WorkshopView};
use crate::runtime::{ArmSource, ArmSupply, CameraView, Sources};
use crate::scene::Props;

/// The arms in use, the way to others, and the workshop.
pub struct Bay {
    sources: Sources,
    supply: Option<ArmSupply>,
    workshop: Option<Workshop>,
    view: Latest<WorkshopView>,
    /// Names of the cameras that see the pretend arm alone.
    pretend_feeds: Vec<String>,
}

impl Bay {
    /// Starts the workshop, if there are tools for it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        sources: Sources,
        supply: Option<ArmSupply>,
        tools: Option<Tools>,
        pretend_feeds: Vec<String>,
    ) -> io::Result<Self> {
        let workshop = tools.map(Workshop::start).transpose()?;
        let view = workshop.as_ref().map(Workshop::view).unwrap_or_default();
        let bay = Self {
            sources,
            supply,
            workshop,
            view,
            pretend_feeds,
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
            self.sources.set(role, source);
            if role == Role::Follower {
                self.take(link);
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

    /// Gives the link another arm. The port of the one before is closed by that.
    fn take(&self, link: &mut Link) {
        let supply = self.supply.as_ref();
        let source = self.sources.follower.as_ref();
        let connector = source.and_then(|source| Some(supply?(Role::Follower, source)));
        if let Err(error) = link.change(connector) {
            log::error!("no arm can be connected: {error}");
        }
    }

    /// The ports that are flown are not the workshop's.
    fn warn_workshop(&self) {
        let Some(workshop) = &self.workshop else {
            return;
        };
        let ports = Role::ALL.into_iter().filter_map(|role| {
            let source = self.sources.of(role)?;
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
            |feed: &&Feed| self.is_pretended() || !self.pretend_feeds.contains(&feed.name);
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

    /// No real arm is flown.
    fn is_pretended(&self) -> bool {
        !matches!(self.sources.follower, Some(ArmSource::Port { .. }))
    }
}
