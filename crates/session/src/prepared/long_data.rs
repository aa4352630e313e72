//! Parameters that the client sends ahead of their statement (COM_STMT_SEND_LONG_DATA).

use memory::{Account, Broker, Holder};
use types::{Error, Result, errno};
use wire::command::LongData;

/// The parameters so far. The command has no reply, so the next execution reports errors.
#[derive(Default)]
pub struct SentAhead {
    pub values: LongData,
    memory: Option<Account>,
    error: Option<Error>,
}

impl SentAhead {
    /// Appends to one of `count` parameters, each of at most `bytes_max`.
    pub fn append(
        &mut self,
        parameter: usize,
        count: usize,
        data: &[u8],
        bytes_max: usize,
        memory: &'static Broker,
    ) {
        if let Err(error) = self.try_append(parameter, count, data, bytes_max, memory) {
            self.error = Some(error);
        }
    }

    fn try_append(
        &mut self,
        parameter: usize,
        count: usize,
        data: &[u8],
        bytes_max: usize,
        memory: &'static Broker,
    ) -> Result<()> {
        if parameter >= count {
            return Err(Error::new(
                errno::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to mysqld_stmt_send_long_data",
            ));
        }
        if self.values.len() <= parameter {
            self.values.resize(count, None);
        }
        let value = self.values[parameter].get_or_insert_default();
        if value.len() + data.len() > bytes_max {
            return Err(Error::new(
                errno::ER_UNKNOWN_ERROR,
                "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes",
            ));
        }
        let account = self
            .memory
            .get_or_insert_with(|| Account::new(memory, Holder::Session, usize::MAX));
        // A growing vector is copied to one that is twice as large.
        if account.grow(data.len().saturating_mul(2), None).is_err() {
            return Err(Error::new(
                errno::ER_MEMORY_EXCEEDED,
                "The server has no memory left for parameters that are sent before their statement; run it again while \
                 fewer large statements run, or raise [memory] limit_bytes",
            ));
        }
        value.extend_from_slice(data);
        Ok(())
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Must be called before an execution. If an error occurred, fails and discards all parameters.
    pub fn check(&mut self) -> Result<()> {
        match self.error.take() {
            None => Ok(()),
            Some(error) => {
                self.clear();
                Err(error)
            }
        }
    }

    /// The memory account of the values, which the execution takes over with them.
    pub fn take_memory(&mut self) -> Option<Account> {
        self.memory.take()
    }
}
