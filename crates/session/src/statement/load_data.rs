//! LOAD DATA INFILE: the file is on the server's disk, or the client sends it (LOCAL).
//!
//! Source: manual 13.2.9, "LOAD DATA Statement", 6.1.6 "Security Considerations for LOAD DATA LOCAL".

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use executor::{FieldReader, FileSource, LoadInput, LoadedFile};
use planner::CachedPlan;
use planner::command::LoadData;
use planner::plan::{InsertPlan, InsertSource, Plan};
use syntax::ast::Statement;
use types::{Error, Result, errno};
use wire::capability;
use wire::connection::PacketSink;

use super::inner_plan;
use crate::compile;
use crate::reply::Done;
use crate::server_files;
use crate::session::Session;

/// The first byte of the packet that asks the client for a file.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_com_query_response_local_infile_request.html>
const LOCAL_INFILE_REQUEST: u8 = 0xfb;

/// # Errors
/// Outer: the client is gone.
pub fn run(session: &mut Session, load: &LoadData, out: &mut dyn PacketSink) -> io::Result<Result<Done>> {
    let plan = match plan(session, load) {
        Ok(plan) => plan,
        Err(error) => return Ok(Err(error)),
    };
    let Plan::Insert(insert) = &plan.plan else {
        return Ok(Err(Error::internal("the plan of LOAD DATA is not an INSERT")));
    };
    if !load.local {
        let file = server_files::open(&session.view(), &load.file);
        return Ok(file.and_then(|file| {
            let name = &load.file;
            read(session, (&plan, insert), load, ServerFile { file, name })
        }));
    }
    let mut client = ClientFile::request(&load.file, out)?;
    let done = read(session, (&plan, insert), load, &mut client);
    // The client does not read the reply before it has sent the whole file.
    while !client.is_over {
        if session.process.is_killed() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        client.next_packet();
    }
    match client.failure {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

/// The plan, with its privileges checked and its tables locked.
fn plan(session: &mut Session, load: &LoadData) -> Result<Arc<CachedPlan>> {
    if !load.local {
        server_files::check_usable(&session.view(), &load.file)?;
    }
    let planned = compile::optimized(session, load.insert.clone(), false)?;
    inner_plan::lock(session, planned, load.schema_version)
}

/// Refuses LOCAL before the table is looked up, as in MySQL.
pub fn check_local(session: &Session, statement: &Statement) -> Result<()> {
    if !matches!(statement, Statement::LoadData(load) if load.local) {
        return Ok(());
    }
    let is_on = session.shared.variables.boolean("local_infile");
    match is_on && session.client.has(capability::LOCAL_FILES) {
        true => Ok(()),
        false => Err(Error::new(
            errno::ER_CLIENT_LOCAL_FILES_DISABLED,
            "Loading local data is disabled; this must be enabled on both the client and server sides",
        )),
    }
}

/// Inserts the rows of a file.
fn read(
    session: &mut Session,
    (plan, insert): (&CachedPlan, &InsertPlan),
    load: &LoadData,
    source: impl FileSource,
) -> Result<Done> {
    let InsertSource::File(file) = &insert.source else {
        return Err(Error::internal("LOAD DATA without a file"));
    };
    let field_bytes_max = session.settings.max_allowed_packet;
    let mut reader = FieldReader::new(Box::new(source), &file.format, file.charset, field_bytes_max);
    reader.ignore_lines(load.ignored_lines)?;
    let input = LoadInput {
        reader: RefCell::new(reader),
        table_is_locked: session.table_locks.is_locked(),
        bulk_bytes: session.settings.bulk_load_bytes,
    };
    let strict = session.settings.sql_mode.strict && !insert.ignore;
    inner_plan::write_file(session, &plan.plan, strict, &input as &dyn LoadedFile).map_err(|error| {
        let schema = session.shared.engine.cluster.schema();
        session
            .client
            .without_foreign_table(error, &plan.accesses, &schema)
    })
}

/// A file on the server's disk.
struct ServerFile<'a> {
    file: File,
    name: &'a str,
}

impl FileSource for ServerFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| server_files::reading_failed(self.name, &error)),
            }
        }
    }
}

/// A file that the client sends in packets. An empty packet ends it.
struct ClientFile<'o> {
    out: &'o mut dyn PacketSink,
    packet: Vec<u8>,
    /// How many of the packet's bytes have been read.
    taken: usize,
    is_over: bool,
    /// The client is gone.
    failure: Option<io::Error>,
}

impl<'o> ClientFile<'o> {
    fn request(name: &str, out: &'o mut dyn PacketSink) -> io::Result<Self> {
        out.send_with(&mut |packet| {
            packet.push(LOCAL_INFILE_REQUEST);
            packet.extend_from_slice(name.as_bytes());
        })?;
        out.flush()?;
        Ok(Self {
            out,
            packet: Vec::new(),
            taken: 0,
            is_over: false,
            failure: None,
        })
    }

    fn next_packet(&mut self) {
        self.taken = 0;
        match self.out.receive(&mut self.packet) {
            Ok(()) => self.is_over = self.packet.is_empty(),
            Err(error) => {
                self.packet.clear();
                self.is_over = true;
                self.failure = Some(error);
            }
        }
    }
}

impl FileSource for &mut ClientFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.taken == self.packet.len() && !self.is_over {
            self.next_packet();
        }
        if let Some(error) = &self.failure {
            return Err(Error::new(
                errno::ER_NET_READ_ERROR,
                format!("Got an error reading communication packets: {error}"),
            ));
        }
        let rest = self.packet.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}
