//! Data directories of older versions of StemDB can be opened, read and written.
//!
//! `tests/data-directories/NAME` is the store of such a version, as it was after SIGTERM or SIGKILL.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::server::{Program, Server};
use crate::text;

const DIRECTORIES: &str = "tests/data-directories";

/// Starts a server on data that an older version wrote.
fn start(program: Program, name: &str) -> Result<Server, String> {
    let mut server = Server::prepare(program, &[])?;
    let data = server.data();
    fs::create_dir_all(&data).map_err(text)?;
    for file in fs::read_dir(Path::new(DIRECTORIES).join(name)).map_err(text)? {
        let file = file.map_err(text)?;
        fs::copy(file.path(), data.join(file.file_name())).map_err(text)?;
    }
    server.run()?;
    Ok(server)
}

/// Old stores have JSON as text. It can be read, and indexes of expressions find it. Writing it converts it
/// to the binary form, which preserves DECIMALs.
pub(crate) fn json_as_text(program: Program) -> Result<(), String> {
    let server = start(program, "json-as-text")?;
    let mut conn = server.address.connect_to("old").map_err(text)?;
    same(
        &mut conn,
        "SELECT GROUP_CONCAT(CONCAT(id, IFNULL(CAST(j AS CHAR), '-'), JSON_TYPE(k)) ORDER BY id SEPARATOR ';') FROM t",
        "1{\"a\": {\"x\": {}}, \"b\": [1, 2.5, 1000.0, true, null], \"aa\": \"é\"}NULL;2[]NULL;3\"text\"NULL;4\
         12NULL;5nullNULL;6-NULL;718446744073709551615NULL;8-1.5NULL;9[4294967296, 9223372036854775807]NULL;10\
         trueNULL;11[1.5, \"2020-01-01\", 3]NULL",
    )?;
    same(
        &mut conn,
        "SELECT CONCAT_WS(',', JSON_TYPE(j->'$[0]'), JSON_TYPE(j->'$[1]'), JSON_TYPE(j->'$[2]')) FROM t WHERE id = 11",
        "DOUBLE,STRING,INTEGER",
    )?;
    for (condition, id) in [
        ("v = 2", "2"),
        ("CAST(j->>'$.n' AS UNSIGNED) = 3", "3"),
        ("CAST(j->>'$.name' AS CHAR(20)) = 'none'", "4"),
        ("s = 'one'", "1"),
    ] {
        same(&mut conn, &format!("SELECT id FROM e WHERE {condition}"), id)?;
    }
    for statement in [
        "UPDATE t SET note = 'changed' WHERE id = 1",
        "UPDATE t SET j = JSON_SET(j, '$[3]', 2.50) WHERE id = 11",
        "UPDATE e SET j = JSON_SET(j, '$.n', 20, '$.d', 1.50) WHERE v = 2",
        "DELETE FROM e WHERE CAST(j->>'$.n' AS UNSIGNED) = 3",
        "INSERT INTO e (j) VALUES (JSON_OBJECT('n', 5, 'name', 'five', 'd', 1.50))",
        "ALTER TABLE e ADD INDEX x ((CAST(j->>'$.d' AS DECIMAL(5, 2))))",
    ] {
        conn.query_drop(statement)
            .map_err(|e| format!("{statement}: {e}"))?;
    }
    same(
        &mut conn,
        "SELECT CONCAT_WS(',', note, j->'$.aa', j->'$.b[1]') FROM t WHERE id = 1",
        "changed,\"é\",2.5",
    )?;
    same(
        &mut conn,
        "SELECT CONCAT_WS(',', JSON_TYPE(j->'$[0]'), JSON_TYPE(j->'$[3]'), j) FROM t WHERE id = 11",
        "DOUBLE,DECIMAL,[1.5, \"2020-01-01\", 3, 2.50]",
    )?;
    same(
        &mut conn,
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM e WHERE CAST(j->>'$.d' AS DECIMAL(5, 2)) = 1.5",
        "2,5",
    )?;
    same(&mut conn, "SELECT GROUP_CONCAT(v ORDER BY v) FROM e", "1,5,20")?;
    for table in ["t", "e"] {
        let check = format!("ADMIN CHECK TABLE {table}");
        conn.query_drop(&check).map_err(|e| format!("{check}: {e}"))?;
    }
    Ok(())
}

/// How long a server may take to end what another has begun, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store with index entries that descend (format 2), and as a server has left it that was killed while it built an index of
/// `g` (a job of format 4) and one with its new column of `h` (format 5), with rows that were written meanwhile, and
/// dropped the primary key of `p`, which nobody could use. The indexes are completed, and the key stays.
pub(crate) fn unfinished_definitions(program: Program) -> Result<(), String> {
    let server = start(program, "unfinished-definitions")?;
    let mut conn = server.address.connect_to("old").map_err(text)?;
    let start = Instant::now();
    while !conn
        .query::<mysql::Row, _>("ADMIN SHOW DDL JOBS 0")
        .map_err(text)?
        .is_empty()
    {
        if start.elapsed() > PATIENCE {
            return Err("the definitions are never completed".to_owned());
        }
        thread::sleep(Duration::from_millis(10));
    }
    for (query, expected) in [
        (
            "SELECT GROUP_CONCAT(id ORDER BY a DESC, id) FROM d FORCE INDEX (a) WHERE a > 1",
            "3,1,4",
        ),
        ("SELECT GROUP_CONCAT(id) FROM d WHERE b = 'y'", "2"),
        (
            "SELECT GROUP_CONCAT(id ORDER BY a) FROM g FORCE INDEX (a) WHERE a > 1",
            "1,2,4",
        ),
        (
            "SELECT GROUP_CONCAT(id ORDER BY b) FROM g FORCE INDEX (b) WHERE b > 1",
            "1,2,4",
        ),
        (
            "SELECT GROUP_CONCAT(c, '.', id ORDER BY id) FROM h FORCE INDEX (c) WHERE c = 5",
            "5.1,5.2,5.4",
        ),
        (
            "SELECT CONCAT(COUNT(*), '.', SUM(id)) FROM p FORCE INDEX (a) WHERE a = 0",
            "900.405450",
        ),
        (
            "SELECT GROUP_CONCAT(table_name, '.', index_name ORDER BY table_name, index_name) \
             FROM information_schema.statistics WHERE table_schema = 'old' AND table_name > 'd' AND seq_in_index = 1",
            "g.a,g.b,g.PRIMARY,h.c,h.PRIMARY,p.a,p.PRIMARY",
        ),
    ] {
        same(&mut conn, query, expected)?;
    }
    for statement in [
        "ADMIN CHECK TABLE d, g, h, p",
        "INSERT INTO d VALUES (5, 6, 'w')",
        "UPDATE d SET b = 'v', a = NULL WHERE id = 1",
        "INSERT INTO g VALUES (5, 5, 5)",
        "INSERT INTO h VALUES (5, 5, 5, 5)",
        "ALTER TABLE p DROP PRIMARY KEY",
        "INSERT INTO p VALUES (1, 1)",
        "ADMIN CHECK TABLE d, g, h, p",
    ] {
        conn.query_drop(statement)
            .map_err(|e| format!("{statement}: {e}"))?;
    }
    same(
        &mut conn,
        "SELECT GROUP_CONCAT(id ORDER BY a DESC, id) FROM d FORCE INDEX (a) WHERE a > 1",
        "3,5,4",
    )
}

fn same(conn: &mut Conn, query: &str, expected: &str) -> Result<(), String> {
    let found: Option<String> = conn.query_first(query).map_err(|e| format!("{query}: {e}"))?;
    match found.as_deref() == Some(expected) {
        true => Ok(()),
        false => Err(format!("{query}: {found:?}, and not {expected:?}")),
    }
}
