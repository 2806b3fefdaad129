//! Controls outside the registry: those of other crates and of tests.

use super::{Ack, CongestionControl, Window};

/// A boxed control; see [`AnyCc::custom`](super::AnyCc::custom).
#[derive(Debug)]
pub struct CustomControl(Box<dyn CongestionControl>);

impl CustomControl {
    /// Boxes `control`, and asserts that it implements exactly one interface.
    pub(super) fn new(mut control: Box<dyn CongestionControl>) -> Self {
        let steers = control.needs().steers;
        assert!(control.steering().is_some() == steers, "a control implements steering exactly if it steers");
        assert!(control.window().is_some() != steers, "a control implements one interface");
        Self(control)
    }

    pub(super) fn control(&self) -> &dyn CongestionControl {
        &*self.0
    }

    pub(super) fn control_mut(&mut self) -> &mut dyn CongestionControl {
        &mut *self.0
    }

    // Cold, so that the registered controls need not materialise the `Ack` in memory.
    #[cold]
    #[inline(never)]
    pub(super) fn acked(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
        let ack = ack();
        if let Some(control) = self.0.deliveries() {
            control.on_ack(window, &ack);
        }
        let reports = self.0.needs().reports;
        if let Some(control) = self.0.window().filter(|_| !reports) {
            control.on_ack(window, &ack);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, window: &mut Window, ack: impl Fn() -> Ack) {
        if let Some(control) = self.0.window() {
            control.grow(window, &ack(), true);
        }
    }
}

impl Clone for CustomControl {
    fn clone(&self) -> Self {
        Self(self.0.clone_box())
    }
}
