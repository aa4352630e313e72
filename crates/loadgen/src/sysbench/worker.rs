//! One connection's statements: the statements of one event of each script.

use super::schema::{C_GROUPS, PAD_GROUPS, digits};
use super::{Script, Sysbench};
use crate::client::{Connection, Param, Statement};
use crate::distribution::Distribution;
use crate::error::Result;
use crate::random::{Random, mix};
use crate::workload::{Context, Next, Worker};

/// Point selects of a read transaction. It has one of every range, update and delete.
const POINT_SELECTS: usize = 10;

/// The statements on one table. Those that the script does not use are left out.
#[derive(Debug, Clone, Copy, Default)]
struct Table {
    point_select: Option<Statement>,
    ranges: [Option<Statement>; 4],
    update_index: Option<Statement>,
    update_non_index: Option<Statement>,
    delete: Option<Statement>,
    insert: Option<Statement>,
}

struct SysbenchWorker {
    connection: Connection,
    script: Script,
    tables: Vec<Table>,
    begin: Option<Statement>,
    commit: Option<Statement>,
    random: Random,
    ids: Distribution,
    range_size: i64,
    c: String,
    pad: String,
}

pub(super) fn open(workload: &Sysbench, context: &Context, number: usize) -> Result<Box<dyn Worker>> {
    let mut connection = Connection::open(&context.target)?;
    let script = workload.script;
    let is_transaction = matches!(script, Script::ReadOnly | Script::ReadWrite | Script::WriteOnly);
    let (mut begin, mut commit) = (None, None);
    if is_transaction && workload.transactions {
        begin = Some(connection.prepare("BEGIN")?);
        commit = Some(connection.prepare("COMMIT")?);
    }
    let tables = (1..=workload.tables)
        .map(|table| prepare_table(&mut connection, script, table))
        .collect::<Result<_>>()?;
    Ok(Box::new(SysbenchWorker {
        connection,
        script,
        tables,
        begin,
        commit,
        random: Random::new(mix(context.seed ^ mix(number as u64 + 1))),
        ids: workload.ids.clone(),
        range_size: workload.range_size,
        c: String::new(),
        pad: String::new(),
    }))
}

fn prepare_table(connection: &mut Connection, script: Script, table: u64) -> Result<Table> {
    let t = format!("sbtest{table}");
    let mut statements = Table::default();
    let mut prepare = |sql: String| connection.prepare(&sql).map(Some);
    if matches!(script, Script::PointSelect | Script::ReadOnly | Script::ReadWrite) {
        statements.point_select = prepare(format!("SELECT c FROM {t} WHERE id=?"))?;
    }
    if matches!(script, Script::ReadOnly | Script::ReadWrite) {
        let within = "WHERE id BETWEEN ? AND ?";
        statements.ranges = [
            prepare(format!("SELECT c FROM {t} {within}"))?,
            prepare(format!("SELECT SUM(k) FROM {t} {within}"))?,
            prepare(format!("SELECT c FROM {t} {within} ORDER BY c"))?,
            prepare(format!("SELECT DISTINCT c FROM {t} {within} ORDER BY c"))?,
        ];
    }
    let writes = matches!(script, Script::ReadWrite | Script::WriteOnly);
    if writes || script == Script::UpdateIndex {
        statements.update_index = prepare(format!("UPDATE {t} SET k=k+1 WHERE id=?"))?;
    }
    if writes || script == Script::UpdateNonIndex {
        statements.update_non_index = prepare(format!("UPDATE {t} SET c=? WHERE id=?"))?;
    }
    if writes || script == Script::Delete {
        statements.delete = prepare(format!("DELETE FROM {t} WHERE id=?"))?;
    }
    if writes {
        statements.insert = prepare(format!("INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)"))?;
    }
    Ok(statements)
}

impl Worker for SysbenchWorker {
    fn next(&mut self) -> Next {
        Next::now(0)
    }

    fn run(&mut self, _operation: usize) -> Result<()> {
        match self.script {
            Script::PointSelect => self.point_selects(1),
            Script::ReadOnly => self.transaction(Self::reads),
            Script::ReadWrite => self.transaction(|worker| {
                worker.reads()?;
                worker.writes()
            }),
            Script::WriteOnly => self.transaction(Self::writes),
            Script::UpdateIndex => self.update_index(),
            Script::UpdateNonIndex => self.update_non_index(),
            Script::Insert => self.insert(),
            Script::Delete => {
                let (table, id) = (self.table(), self.id());
                self.execute(table.delete, &[id.into()])
            }
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl SysbenchWorker {
    fn execute(&mut self, statement: Option<Statement>, values: &[Param<'_>]) -> Result<()> {
        match statement {
            Some(statement) => self.connection.execute(statement, values).map(drop),
            None => Ok(()),
        }
    }

    fn table(&mut self) -> Table {
        let position = self.random.below(self.tables.len() as u64) as usize;
        self.tables.get(position).copied().unwrap_or_default()
    }

    fn id(&mut self) -> i64 {
        self.ids.choose(&mut self.random) as i64 + 1
    }

    fn transaction(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.execute(self.begin, &[])?;
        body(self)?;
        self.execute(self.commit, &[])
    }

    fn point_selects(&mut self, count: usize) -> Result<()> {
        let table = self.table();
        for _ in 0..count {
            let id = self.id();
            self.execute(table.point_select, &[id.into()])?;
        }
        Ok(())
    }

    fn reads(&mut self) -> Result<()> {
        self.point_selects(POINT_SELECTS)?;
        for kind in 0..4 {
            let (table, id) = (self.table(), self.id());
            let statement = table.ranges.get(kind).copied().flatten();
            self.execute(statement, &[id.into(), (id + self.range_size - 1).into()])?;
        }
        Ok(())
    }

    fn update_index(&mut self) -> Result<()> {
        let (table, id) = (self.table(), self.id());
        self.execute(table.update_index, &[id.into()])
    }

    fn update_non_index(&mut self) -> Result<()> {
        let (table, id) = (self.table(), self.id());
        digits(&mut self.random, C_GROUPS, &mut self.c);
        let Some(statement) = table.update_non_index else {
            return Ok(());
        };
        let values = [(&self.c).into(), id.into()];
        self.connection.execute(statement, &values).map(drop)
    }

    fn writes(&mut self) -> Result<()> {
        self.update_index()?;
        self.update_non_index()?;
        let (table, id, k) = (self.table(), self.id(), self.id());
        digits(&mut self.random, C_GROUPS, &mut self.c);
        digits(&mut self.random, PAD_GROUPS, &mut self.pad);
        self.execute(table.delete, &[id.into()])?;
        let Some(insert) = table.insert else { return Ok(()) };
        let values = [id.into(), k.into(), (&self.c).into(), (&self.pad).into()];
        self.connection.execute(insert, &values).map(drop)
    }

    /// As text in both protocols, and with 0 for the id, as in the script.
    fn insert(&mut self) -> Result<()> {
        let table = self.random.below(self.tables.len() as u64) + 1;
        let k = self.id();
        digits(&mut self.random, C_GROUPS, &mut self.c);
        digits(&mut self.random, PAD_GROUPS, &mut self.pad);
        let sql = format!(
            "INSERT INTO sbtest{table} (id, k, c, pad) VALUES (0, {k}, '{}', '{}')",
            self.c, self.pad
        );
        self.connection.query(&sql).map(drop)
    }
}
