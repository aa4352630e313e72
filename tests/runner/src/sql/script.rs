//! Reads and writes `.test` files. It knows nothing of servers; [`super::play`] runs scripts.

use std::fmt::Write as _;

/// One file of the corpus.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// `.stemdb`: statements that MySQL does not have. They run on StemDB only, and their results are
    /// recorded from it.
    pub only_stemdb: bool,
    /// `.transactional`: nothing depends on the executor, so the script runs once.
    pub one_route: bool,
    /// Only for a server that does not share its store.
    pub only_embedded: bool,
    pub items: Vec<Item>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// A comment, unchanged.
    Comment(String),
    Block(Block),
}

/// One statement and its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Line number of the statement, counted from 1.
    pub line: usize,
    pub options: Options,
    pub action: Action,
    /// The lines below `----`; empty if none was recorded yet.
    pub answer: Vec<String>,
}

/// The directives above a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `.meta`: the result starts with the metadata of each column.
    pub meta: bool,
    /// `.types`: the result starts with the type of each column.
    pub types: bool,
    /// `.code`: of an error only number and SQLSTATE are compared.
    pub code_only: bool,
    /// `.noid`: the generated id depends on how many ids failed statements used up, so it is left out.
    pub no_id: bool,
    /// `.nocount`: the counts depend on whether rows were copied (ALTER TABLE), so they are left out.
    pub no_count: bool,
    /// `.needs SELECT ON d.t | FILE ON *.*`: run without any of these privileges, without each, and with all.
    pub needs: Vec<String>,
    /// `.bind VALUES`: run through the binary protocol with these parameters.
    pub bind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Run the statement and wait for its result.
    Run { connection: String, sql: String },
    /// `@b& ...;` sends it, and checks that it waits.
    Send { connection: String, sql: String },
    /// `@b;` reads the result of the statement sent before.
    Collect { connection: String },
    /// `@b close;`
    Close { connection: String },
    /// `@b login USER, 'PASSWORD', DATABASE;`: opens the connection with another account than the script's.
    Login { connection: String, login: Login },
}

/// The account of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    /// Empty for none.
    pub password: String,
    pub database: Option<String>,
}

impl Default for Action {
    fn default() -> Self {
        Self::Collect {
            connection: String::new(),
        }
    }
}

/// The connection of statements without a connection's name.
pub const MAIN: &str = "main";

const RULE: &str = "----";

impl Script {
    /// Reads a file's text. The error names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self::default();
        let mut options = Options::default();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let trimmed = line.trim();
            if trimmed.is_empty() {
                continue;
            }
            if trimmed.starts_with('#') {
                script.comment(trimmed);
                continue;
            }
            if trimmed.starts_with('.') {
                script
                    .directive(trimmed, &mut options)
                    .map_err(|e| at(number, &e))?;
                continue;
            }
            if trimmed == RULE {
                return Err(at(number, "an answer without a statement"));
            }
            let mut statement = line.trim_end().to_string();
            while !statement.ends_with(';') {
                let Some((_, next)) = lines.next() else {
                    return Err(at(number, "the statement does not end with ';'"));
                };
                if next.trim() == RULE {
                    return Err(at(number, "the statement does not end with ';'"));
                }
                statement.push('\n');
                statement.push_str(next.trim_end());
            }
            statement.pop();
            let mut answer = Vec::new();
            if lines.peek().is_some_and(|(_, l)| l.trim() == RULE) {
                lines.next();
                while let Some((_, l)) = lines.next_if(|(_, l)| !l.trim().is_empty()) {
                    answer.push(l.to_string());
                }
            }
            script.items.push(Item::Block(Block {
                line: number + 1,
                options: std::mem::take(&mut options),
                action: Action::parse(&statement).map_err(|e| at(number, &e))?,
                answer,
            }));
        }
        Ok(script)
    }

    fn comment(&mut self, line: &str) {
        match self.items.last_mut() {
            Some(Item::Comment(text)) => {
                text.push('\n');
                text.push_str(line);
            }
            _ => self.items.push(Item::Comment(line.to_string())),
        }
    }

    fn directive(&mut self, line: &str, options: &mut Options) -> Result<(), String> {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            ".stemdb" => self.only_stemdb = true,
            ".transactional" => self.one_route = true,
            ".embedded" => self.only_embedded = true,
            ".meta" => options.meta = true,
            ".types" => options.types = true,
            ".noid" => options.no_id = true,
            ".nocount" => options.no_count = true,
            ".code" => options.code_only = true,
            ".needs" => options.needs = rest.split('|').map(|one| one.trim().to_string()).collect(),
            ".bind" => options.bind = Some(rest.trim().to_string()),
            _ => return Err(format!("unknown directive {name}")),
        }
        Ok(())
    }

    /// The file's text: as [`Script::parse`] read it, with the current results.
    pub fn print(&self) -> String {
        let mut out = String::new();
        let mut header = Vec::new();
        if self.only_stemdb {
            header.push(".stemdb");
        }
        if self.one_route {
            header.push(".transactional");
        }
        if self.only_embedded {
            header.push(".embedded");
        }
        for (index, item) in self.items.iter().enumerate() {
            match item {
                Item::Comment(text) => out.push_str(text),
                Item::Block(block) => block.print(&mut out),
            }
            out.push('\n');
            // Directives for the whole file are printed after its first comment.
            if index == 0 {
                for line in header.drain(..) {
                    out.push_str(line);
                    out.push('\n');
                }
            }
            if index + 1 < self.items.len() {
                out.push('\n');
            }
        }
        out
    }

    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.items.iter().filter_map(|item| match item {
            Item::Block(block) => Some(block),
            Item::Comment(_) => None,
        })
    }
}

impl Block {
    fn print(&self, out: &mut String) {
        if self.options.meta {
            out.push_str(".meta\n");
        }
        if self.options.types {
            out.push_str(".types\n");
        }
        if self.options.no_id {
            out.push_str(".noid\n");
        }
        if self.options.no_count {
            out.push_str(".nocount\n");
        }
        if self.options.code_only {
            out.push_str(".code\n");
        }
        if !self.options.needs.is_empty() {
            let _ = writeln!(out, ".needs {}", self.options.needs.join(" | "));
        }
        if let Some(bind) = &self.options.bind {
            let _ = writeln!(out, "{}", format!(".bind {bind}").trim_end());
        }
        let _ = writeln!(out, "{};", self.action.print());
        out.push_str(RULE);
        for line in &self.answer {
            out.push('\n');
            out.push_str(line);
        }
    }
}

impl Action {
    fn parse(statement: &str) -> Result<Self, String> {
        let Some(rest) = statement.strip_prefix('@') else {
            return Ok(Self::Run {
                connection: MAIN.to_string(),
                sql: statement.to_string(),
            });
        };
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        if name.is_empty() {
            return Err("a connection needs a name".to_string());
        }
        let connection = name.to_string();
        if let Some(sql) = rest.strip_prefix('&') {
            return Ok(Self::Send {
                connection,
                sql: sql.trim().to_string(),
            });
        }
        Ok(match rest.trim() {
            "" => Self::Collect { connection },
            "close" => Self::Close { connection },
            login if login.starts_with("login ") => Self::Login {
                connection,
                login: Login::parse(&login["login ".len()..])?,
            },
            sql => Self::Run {
                connection,
                sql: sql.to_string(),
            },
        })
    }

    fn print(&self) -> String {
        match self {
            Self::Run { connection, sql } if connection == MAIN => sql.clone(),
            Self::Run { connection, sql } => format!("@{connection} {sql}"),
            Self::Send { connection, sql } => format!("@{connection}& {sql}"),
            Self::Collect { connection } => format!("@{connection}"),
            Self::Close { connection } => format!("@{connection} close"),
            Self::Login { connection, login } => format!("@{connection} login {}", login.print()),
        }
    }
}

impl Login {
    /// `user[, 'password'[, database]]`
    fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let login = Self {
            user: parts.next().unwrap_or_default().to_string(),
            password: parts.next().unwrap_or_default().trim_matches('\'').to_string(),
            database: parts.next().map(str::to_string),
        };
        match parts.next() {
            None => Ok(login),
            Some(more) => Err(format!("unexpected behind the database: {more}")),
        }
    }

    fn print(&self) -> String {
        match (&self.database, self.password.as_str()) {
            (Some(database), password) => format!("{}, '{password}', {database}", self.user),
            (None, "") => self.user.clone(),
            (None, password) => format!("{}, '{password}'", self.user),
        }
    }
}

fn at(number: usize, what: &str) -> String {
    format!("line {}: {what}", number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# What this is about.
.transactional

SELECT 1 AS a;
----
| a |
| 1 |

# Two connections.

.meta
.bind 1, 'x'
@b SELECT ?,
  ?;
----
| 1 |

@b& UPDATE t SET a = 1;
----
waiting

@b;
----
ok

@b close;
----
closed

@c login app, 'secret', shop;
----
connected

@d login app;
----
error 1045 (28000)

.needs SELECT ON d.t | FILE ON *.*
@c SELECT a FROM d.t;
----
nothing: ok
";

    #[test]
    fn what_is_read_is_printed_again() {
        let script = Script::parse(TEXT).unwrap();
        assert!(script.one_route && !script.only_stemdb);
        assert_eq!(script.blocks().count(), 8);
        assert_eq!(script.print(), TEXT);
    }

    #[test]
    fn statements_need_no_answer_yet() {
        let script = Script::parse("SELECT 1;\nSELECT\n 2; SELECT 3;\n").unwrap();
        let sql: Vec<_> = script.blocks().map(|b| b.action.print()).collect();
        assert_eq!(sql, ["SELECT 1", "SELECT\n 2; SELECT 3"]);
        assert!(script.blocks().all(|b| b.answer.is_empty()));
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(
            Script::parse("\n.nonsense\n").unwrap_err(),
            "line 2: unknown directive .nonsense"
        );
        assert!(
            Script::parse("SELECT 1\n----\n")
                .unwrap_err()
                .starts_with("line 1")
        );
        assert!(Script::parse("SELECT 1").unwrap_err().starts_with("line 1"));
    }
}
