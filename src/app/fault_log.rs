//! Writes each fault into the log when it begins, so that it can be read up after it was acknowledged.

use std::collections::BTreeSet;

use crate::runtime::Fault;

/// Remembers which faults were going on when it last looked.
#[derive(Debug, Default)]
pub struct FaultLog {
    active: BTreeSet<u64>,
}

impl FaultLog {
    /// The faults that have begun since the last look, in words.
    pub fn begun(&mut self, faults: &[Fault]) -> Vec<String> {
        let active: BTreeSet<u64> = faults
            .iter()
            .filter(|fault| fault.active)
            .map(|fault| fault.id)
            .collect();
        let words = |fault: &Fault| format!("{} · {}", fault.what, fault.remedy);
        let begun = faults
            .iter()
            .filter(|fault| fault.active && !self.active.contains(&fault.id))
            .map(words)
            .collect();
        self.active = active;
        begun
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runtime::FaultKind;

    #[test]
    fn a_fault_is_told_each_time_it_begins() {
        let mut fault = Fault {
            id: 3,
            kind: FaultKind::CameraStale,
            what: "camera front is stale".to_owned(),
            remedy: "Check its plug.".to_owned(),
            since: Duration::ZERO,
            count: 1,
            active: true,
        };
        let mut log = FaultLog::default();
        let told = log.begun(std::slice::from_ref(&fault));
        assert_eq!(told, ["camera front is stale · Check its plug."]);
        assert!(log.begun(std::slice::from_ref(&fault)).is_empty());
        fault.active = false;
        assert!(log.begun(std::slice::from_ref(&fault)).is_empty());
        fault.active = true;
        assert_eq!(log.begun(&[fault]).len(), 1);
    }
}
