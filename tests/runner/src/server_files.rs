//! LOAD_FILE(): what it reads with `secure_file_priv`, and for which accounts. The answers are those of MySQL
//! 8.0.33, which a script of the corpus cannot have, as it names no file of the server.

use std::fs;
use std::os::unix::fs::symlink;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Value};

use crate::report::Report;
use crate::server::{Program, Server};
use crate::{code, text};

const BYTES: &[u8] = b"some \xff bytes\0\n";

pub fn check(program: &Program, report: &mut Report) {
    if !matches!(program, Program::StemDb { store: None, .. }) {
        return;
    }
    let server = match start(program.clone()) {
        Ok(server) => server,
        Err(error) => return report.fail("server files: set up", &error),
    };
    report.check("server files: LOAD_FILE() reads what it may", reads(&server));
    report.check("server files: an account needs FILE", needs_privilege(&server));
}

/// A server that may read one directory, with files there and a link that leads out of it.
fn start(program: Program) -> Result<Server, String> {
    let mut server = Server::prepare(program, &[])?;
    let directory = server.path("files");
    fs::create_dir_all(directory.join("inner")).map_err(text)?;
    fs::write(directory.join("plain"), BYTES).map_err(text)?;
    fs::write(directory.join("empty"), "").map_err(text)?;
    fs::write(directory.join("large"), vec![b'x'; 2000]).map_err(text)?;
    fs::write(server.path("outside"), "secret").map_err(text)?;
    symlink(server.path("outside"), directory.join("link")).map_err(text)?;
    let configuration = server.path("files.toml");
    fs::write(
        &configuration,
        format!("[variables]\nsecure_file_priv = \"{}\"\n", directory.display()),
    )
    .map_err(text)?;
    server.add_arguments(&["--config", &configuration.display().to_string()]);
    server.run()?;
    Ok(server)
}

/// What LOAD_FILE() of a file of the server's directory gives.
fn load(conn: &mut Conn, server: &Server, name: &str) -> Result<Value, mysql::Error> {
    let path = server.path(name).display().to_string();
    let value: Option<Value> = conn.exec_first("SELECT LOAD_FILE(?)", (path,))?;
    Ok(value.unwrap_or(Value::Int(0)))
}

fn reads(server: &Server) -> Result<(), String> {
    let mut conn = server.address.connect().map_err(text)?;
    for (name, expected) in [
        ("files/plain", Value::Bytes(BYTES.to_vec())),
        ("files/empty", Value::Bytes(Vec::new())),
        ("files/inner/../plain", Value::Bytes(BYTES.to_vec())),
        ("files/nosuch", Value::NULL),
        ("outside", Value::NULL),
        ("files/../outside", Value::NULL),
        ("files/link", Value::NULL),
    ] {
        let found = load(&mut conn, server, name).map_err(text)?;
        if found != expected {
            return Err(format!("{name}: {found:?}"));
        }
    }
    match load(&mut conn, server, "files/inner") {
        Err(error) if code(&error) == 1085 => {}
        other => return Err(format!("a directory: {other:?}")),
    }
    conn.query_drop("SET GLOBAL max_allowed_packet = 1024")
        .map_err(text)?;
    let mut conn = server.address.connect().map_err(text)?;
    let path = server.path("files/large").display().to_string();
    let found: Option<Value> = conn
        .query_first(format!("SELECT LOAD_FILE('{path}')"))
        .map_err(text)?;
    let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").map_err(text)?;
    match (&found, warnings.as_slice()) {
        (Some(Value::NULL), [(_, 1301, _)]) => Ok(()),
        _ => Err(format!("a large file: {found:?}, {warnings:?}")),
    }
}

/// Revoking FILE counts at once.
fn needs_privilege(server: &Server) -> Result<(), String> {
    let mut root = server.address.connect().map_err(text)?;
    root.query_drop("CREATE USER reader IDENTIFIED BY ''")
        .map_err(text)?;
    let options = OptsBuilder::from_opts(server.address.opts()).user(Some("reader"));
    let mut conn = Conn::new(options).map_err(text)?;
    for (grant, expected) in [
        ("GRANT SELECT ON *.* TO reader", Value::NULL),
        ("GRANT FILE ON *.* TO reader", Value::Bytes(BYTES.to_vec())),
        ("REVOKE FILE ON *.* FROM reader", Value::NULL),
    ] {
        root.query_drop(grant).map_err(text)?;
        let found = load(&mut conn, server, "files/plain").map_err(text)?;
        if found != expected {
            return Err(format!("after {grant}: {found:?}"));
        }
    }
    Ok(())
}
