//! The inputs of an operator that remembers keys, in rounds. In the first round they are the operator's own. Once
//! there is no memory for further keys, rows whose keys are not remembered are set aside, part by part
//! ([`SetAside`]); each part is the input of a round of its own, for which the keys before are forgotten.

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use types::Result;

use super::BoxOperator;
use super::filter::split;
use crate::env::Env;
use crate::spill::{PARTS, RowFile, RowReader, SetAside};

/// `N` inputs. Rows with equal keys are in the same round, whichever input they are of.
pub(super) struct Rounds<'p, const N: usize> {
    inputs: [Input<'p>; N],
    level: u64,
    aside: [Option<SetAside>; N],
    /// Rounds to come, each with its level and its inputs.
    later: Vec<(u64, [Option<RowFile>; N])>,
}

/// An input of a round.
enum Input<'p> {
    Operator(BoxOperator<'p>),
    /// A file, and what has been read of it and not been asked for.
    File(Box<RowReader>, Option<RecordBatch>),
    Empty,
}

impl<'p, const N: usize> Rounds<'p, N> {
    pub fn new(inputs: [BoxOperator<'p>; N]) -> Self {
        Self {
            inputs: inputs.map(Input::Operator),
            level: 0,
            aside: [const { None }; N],
            later: Vec::new(),
        }
    }

    /// Whether this is the round of the operator's own inputs.
    pub fn is_first(&self) -> bool {
        self.level == 0
    }

    /// Whether rows of an input have been set aside in this round.
    pub fn has_aside(&self, input: usize) -> bool {
        self.aside.get(input).is_some_and(Option::is_some)
    }

    /// The next rows of an input in this round: as [`super::Operator::next`].
    pub fn next(
        &mut self,
        input: usize,
        env: &mut Env<'_, '_>,
        wanted: usize,
    ) -> Result<Option<RecordBatch>> {
        match self.inputs.get_mut(input) {
            Some(Input::Operator(operator)) => operator.next(env, wanted),
            Some(Input::File(file, rest)) => {
                env.check_interrupted()?;
                let batch = match rest.take() {
                    Some(batch) => batch,
                    None => match file.next()? {
                        Some(batch) => batch,
                        None => return Ok(None),
                    },
                };
                let (now, later) = split(batch, wanted);
                *rest = later;
                Ok(Some(now))
            }
            Some(Input::Empty) | None => Ok(None),
        }
    }

    /// Sets the rows of an input aside for which `waits` is true. `keys`: one for each row of the batch.
    pub fn set_aside(
        &mut self,
        input: usize,
        (batch, keys): (&RecordBatch, &Rows),
        waits: &BooleanArray,
        env: &Env<'_, '_>,
    ) -> Result<()> {
        let level = self.level;
        match self.aside.get_mut(input) {
            Some(aside) if waits.true_count() > 0 => aside
                .get_or_insert_with(|| {
                    if level == 0 {
                        env.eval().reads.moved_to_files();
                    }
                    SetAside::new(level)
                })
                .add(batch, keys, waits, env),
            _ => Ok(()),
        }
    }

    /// Begins the next round, after the rows of this one have been read. `false`: there is none. An operator gives
    /// no rows of a round in which its first input is empty: there are no such rounds.
    pub fn next_round(&mut self, env: &Env<'_, '_>) -> Result<bool> {
        let aside = std::mem::replace(&mut self.aside, [const { None }; N]);
        let mut parts: [Vec<Option<RowFile>>; N] = [const { Vec::new() }; N];
        for (parts, aside) in parts.iter_mut().zip(aside) {
            *parts = match aside {
                Some(aside) => aside.finish(env)?,
                None => Vec::new(),
            };
        }
        for part in 0..PARTS {
            let files = parts
                .each_mut()
                .map(|parts| parts.get_mut(part).and_then(Option::take));
            if files.first().is_some_and(Option::is_some) {
                self.later.push((self.level + 1, files));
            }
        }
        let Some((level, files)) = self.later.pop() else {
            return Ok(false);
        };
        self.level = level;
        for (input, file) in self.inputs.iter_mut().zip(files) {
            *input = match file {
                Some(file) => Input::File(Box::new(file.read()?), None),
                None => Input::Empty,
            };
        }
        Ok(true)
    }
}
