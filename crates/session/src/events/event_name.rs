//! Names of the events of statements.

use syntax::ast::SqlCommand;

const COMMANDS: usize = SqlCommand::ALL.len();
const ERROR: u8 = COMMANDS as u8;
/// How many names there are.
pub const NAMES: usize = COMMANDS + 1 + ProtocolCommand::NAMES.len();
const _: () = assert!(NAMES < u8::MAX as usize);

/// The name of a statement's event: its kind, or a command of the protocol that is not a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventName(u8);

/// Commands of the protocol with events of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ProtocolCommand {
    Quit,
    InitDb,
    FieldList,
    Refresh,
    Statistics,
    ProcessList,
    Kill,
    Debug,
    Ping,
    Prepare,
    Execute,
    LongData,
    CloseStatement,
    ResetStatement,
    SetOption,
    Fetch,
    ResetConnection,
    Error,
}

impl ProtocolCommand {
    const NAMES: [&str; 18] = [
        "Quit",
        "Init DB",
        "Field List",
        "Refresh",
        "Statistics",
        "Processlist",
        "Kill",
        "Debug",
        "Ping",
        "Prepare",
        "Execute",
        "Long Data",
        "Close stmt",
        "Reset stmt",
        "Set option",
        "Fetch",
        "Reset Connection",
        "Error",
    ];
}

/// A text that cannot be parsed.
impl Default for EventName {
    fn default() -> Self {
        Self(ERROR)
    }
}

impl From<Option<SqlCommand>> for EventName {
    #[inline]
    fn from(command: Option<SqlCommand>) -> Self {
        command.map_or(Self(ERROR), |command| Self(command as u8))
    }
}

impl From<ProtocolCommand> for EventName {
    fn from(command: ProtocolCommand) -> Self {
        Self(ERROR + 1 + command as u8)
    }
}

impl EventName {
    /// The kind of the statement.
    pub fn command(self) -> Option<SqlCommand> {
        SqlCommand::ALL.get(usize::from(self.0)).copied()
    }

    /// Its place among the names.
    #[inline]
    pub fn place(self) -> u8 {
        self.0
    }

    /// The name at a place below [`NAMES`].
    pub fn at(place: u8) -> Self {
        Self(place)
    }

    /// As `performance_schema` shows it.
    pub fn text(self) -> String {
        match (self.command(), usize::from(self.0).checked_sub(COMMANDS + 1)) {
            // MySQL has not renamed the events of these.
            (Some(SqlCommand::ShowReplicaStatus), _) => "statement/sql/show_slave_status".to_owned(),
            (Some(SqlCommand::ShowReplicas), _) => "statement/sql/show_slave_hosts".to_owned(),
            (Some(command), _) => format!("statement/sql/{}", command.name()),
            (None, Some(protocol)) => format!("statement/com/{}", ProtocolCommand::NAMES[protocol]),
            (None, None) => "statement/sql/error".to_owned(),
        }
    }
}
