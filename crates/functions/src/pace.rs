//! Counts the steps of a loop within one call, and looks at the interruption now and then ([`crate::work`]).

use types::Result;

/// The interruption is looked at after so many bytes of long values, or steps of a loop.
pub(crate) const BETWEEN_LOOKS: usize = 256 << 10;

/// What can be interrupted: the context of a statement.
pub(crate) trait Interruptible {
    /// Fails with 1317 once it has been interrupted.
    fn check(&self) -> Result<()>;
}

/// Counts the steps of a loop within one call.
pub(crate) struct Pace<'c> {
    /// `None`: nothing interrupts the loop.
    work: Option<&'c dyn Interruptible>,
    left: usize,
}

impl<'c> Pace<'c> {
    pub fn of(work: &'c dyn Interruptible) -> Self {
        Self {
            work: Some(work),
            left: BETWEEN_LOOKS,
        }
    }

    /// For short loops that no statement runs.
    pub fn unwatched() -> Self {
        Self {
            work: None,
            left: usize::MAX,
        }
    }

    /// How many steps may be taken before the next look.
    pub fn steps_between_looks() -> usize {
        BETWEEN_LOOKS
    }

    /// Counts steps of a nanosecond or so.
    ///
    /// # Errors
    /// 1317 once the statement has been interrupted.
    #[inline]
    pub fn step(&mut self, steps: usize) -> Result<()> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.look(),
        }
    }

    #[cold]
    fn look(&mut self) -> Result<()> {
        self.left = BETWEEN_LOOKS;
        self.work.map_or(Ok(()), Interruptible::check)
    }
}
