//! One connection's operations.

use super::records::{self, FIELDS, field, field_list};
use super::{Choice, OPERATIONS, Operation, Ycsb};
use crate::client::{Connection, Param, Statement};
use crate::error::{Error, Result};
use crate::random::{Random, mix};
use crate::workload::{Context, Next, Worker};

struct Client<'a> {
    workload: &'a Ycsb,
    connection: Connection,
    read: Statement,
    updates: Vec<Statement>,
    insert: Statement,
    scan: Statement,
    random: Random,
    /// The operations of the mix, in the order of the report.
    operations: Vec<Operation>,
    /// The record chosen for the next operation.
    number: u64,
    key: String,
    values: Vec<String>,
    rows: i64,
}

pub(super) fn open<'a>(workload: &'a Ycsb, context: &Context, number: usize) -> Result<Box<dyn Worker + 'a>> {
    let mut connection = Connection::open(&context.target)?;
    let fields = field_list();
    let updates = (0..FIELDS)
        .map(|field| {
            connection.prepare(&format!(
                "UPDATE usertable SET FIELD{field} = ? WHERE YCSB_KEY = ?"
            ))
        })
        .collect::<Result<_>>()?;
    let marks = ["?"; FIELDS + 1].join(", ");
    Ok(Box::new(Client {
        workload,
        read: connection.prepare(&format!("SELECT {fields} FROM usertable WHERE YCSB_KEY = ?"))?,
        updates,
        insert: connection.prepare(&format!(
            "INSERT INTO usertable (YCSB_KEY, {fields}) VALUES ({marks})"
        ))?,
        scan: connection.prepare(&format!(
            "SELECT {fields} FROM usertable WHERE YCSB_KEY >= ? ORDER BY YCSB_KEY LIMIT ?"
        ))?,
        connection,
        random: Random::new(mix(context.seed ^ mix(number as u64 + 1))),
        operations: OPERATIONS
            .iter()
            .zip(workload.mix)
            .filter(|(_, share)| *share > 0)
            .map(|((operation, _), _)| *operation)
            .collect(),
        number: 0,
        key: String::new(),
        values: Vec::new(),
        rows: 0,
    }))
}

impl Worker for Client<'_> {
    fn next(&mut self) -> Next {
        let mut dice = self.random.below(100);
        let mut chosen = 0;
        for (position, operation) in self.operations.iter().enumerate() {
            chosen = position;
            let share = self
                .workload
                .mix
                .get(*operation as usize)
                .copied()
                .unwrap_or_default();
            if dice < share {
                break;
            }
            dice -= share;
        }
        let operation = self.operations.get(chosen).copied().unwrap_or(Operation::Read);
        self.number = match (operation, &self.workload.choice) {
            (Operation::Insert, _) => self.workload.inserts.take(),
            (_, Choice::First(distribution)) => distribution.choose(&mut self.random),
            (_, Choice::Latest(zipf)) => {
                let age = zipf.choose(&mut self.random);
                self.workload.inserts.latest(age, self.workload.records)
            }
        };
        self.key = records::key(self.number);
        self.values.clear();
        let values = match operation {
            Operation::Insert => FIELDS,
            Operation::Update | Operation::ReadModifyWrite => 1,
            Operation::Read | Operation::Scan => 0,
        };
        self.values.extend((0..values).map(|_| field(&mut self.random)));
        self.rows = self.random.below(self.workload.scan_rows) as i64 + 1;
        Next::now(chosen)
    }

    fn run(&mut self, operation: usize) -> Result<()> {
        match self.operations.get(operation) {
            Some(Operation::Update) => self.update(),
            Some(Operation::Insert) => {
                let result = self.insert();
                self.workload.inserts.answered(self.number);
                result
            }
            Some(Operation::Scan) => {
                let values = [Param::from(&self.key), self.rows.into()];
                let done = self.connection.execute(self.scan, &values)?;
                self.expect("scan", done.rows)
            }
            Some(Operation::ReadModifyWrite) => {
                self.read()?;
                self.update()
            }
            Some(Operation::Read) | None => self.read(),
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Client<'_> {
    fn expect(&self, operation: &'static str, rows: u64) -> Result<()> {
        if rows == 0 {
            let key = self.key.clone();
            return Err(Error::Missing { operation, key });
        }
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        let done = self.connection.execute(self.read, &[(&self.key).into()])?;
        self.expect("read", done.rows)
    }

    fn update(&mut self) -> Result<()> {
        let field = self.random.below(FIELDS as u64) as usize;
        let (Some(statement), Some(value)) = (self.updates.get(field), self.values.first()) else {
            return Ok(());
        };
        let done = self
            .connection
            .execute(*statement, &[value.into(), (&self.key).into()])?;
        self.expect("update", done.affected_rows)
    }

    fn insert(&mut self) -> Result<()> {
        let mut values: Vec<Param<'_>> = vec![(&self.key).into()];
        values.extend(self.values.iter().map(Param::from));
        self.connection.execute(self.insert, &values).map(drop)
    }
}
