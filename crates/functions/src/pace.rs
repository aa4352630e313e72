//! Counts the steps of a loop within one call, and looks at the interruption now and then ([`crate::work`]).

use std::convert::Infallible;

use types::Error;

/// The interruption is looked at after so many bytes of long values, or steps of a loop.
pub(crate) const BETWEEN_LOOKS: usize = 256 << 10;
/// A loop of fewer steps is not watched: see [`is_short`].
const STEPS_OF_SHORT: usize = 64 << 10;

/// What can be interrupted: the context of a statement.
pub(crate) trait Interruptible {
    /// Fails with 1317 once it has been interrupted.
    fn check(&self) -> types::Result<()>;
}

/// What the steps of a loop are told to. A loop is written for any, so that a short one costs nothing ([`Unwatched`]) and
/// a long one can be interrupted ([`Pace`]).
pub(crate) trait Steps {
    /// Why the loop does not go on.
    type Stop;

    /// Whether it is ever stopped.
    const STOPS: bool;

    /// Tells of steps of a nanosecond or so.
    fn step(&mut self, steps: usize) -> Result<(), Self::Stop>;
}

/// Whether a loop over some bytes, each of which may take so many steps, is soon done.
#[inline]
pub(crate) fn is_short(bytes: usize, steps_of_each: usize) -> bool {
    bytes.saturating_mul(steps_of_each) <= STEPS_OF_SHORT
}

/// For loops that are short, or that no statement runs.
pub(crate) struct Unwatched;

impl Steps for Unwatched {
    type Stop = Infallible;

    const STOPS: bool = false;

    #[inline(always)]
    fn step(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Counts the steps, and stops with 1317 once the statement has been interrupted.
pub(crate) struct Pace<'c> {
    work: &'c dyn Interruptible,
    left: usize,
}

impl<'c> Pace<'c> {
    pub fn of(work: &'c dyn Interruptible) -> Self {
        Self {
            work,
            left: BETWEEN_LOOKS,
        }
    }

    #[cold]
    fn look(&mut self) -> types::Result<()> {
        self.left = BETWEEN_LOOKS;
        self.work.check()
    }
}

impl Steps for Pace<'_> {
    type Stop = Error;

    const STOPS: bool = true;

    #[inline]
    fn step(&mut self, steps: usize) -> types::Result<()> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.look(),
        }
    }
}
