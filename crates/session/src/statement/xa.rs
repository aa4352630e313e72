//! XA: transactions that a transaction manager commits on several servers in two phases (manual 13.3.8).

use cluster::prepared::Xid;
use runner::{BeginOptions, Characteristics, XaBranch, XaState};
use schema::privilege::Privilege;
use syntax::ast::{self, XaJoin, XaStatement};
use types::{Collation, Error, Result, SqlType, Value, errno};

use crate::listing::Listing;
use crate::session::Session;

/// The width of XA RECOVER's data.
const DATA_CHARS: u32 = 258;

pub fn run(session: &mut Session, statement: &XaStatement) -> Result<()> {
    match statement {
        XaStatement::Start { xid, joins } => start(session, of_ast(xid), *joins),
        XaStatement::End { xid, suspends } => end(session, &of_ast(xid), *suspends),
        XaStatement::Prepare(xid) => prepare(session, &of_ast(xid)),
        XaStatement::Commit { xid, one_phase } => commit(session, &of_ast(xid), *one_phase),
        XaStatement::Rollback(xid) => rollback(session, &of_ast(xid)),
        XaStatement::Recover { .. } => Ok(()),
    }
}

fn of_ast(xid: &ast::Xid) -> Xid {
    Xid {
        format: xid.format,
        global: xid.global.clone(),
        branch: xid.branch.clone(),
    }
}

fn unknown_xid() -> Error {
    Error::new(errno::ER_XAER_NOTA, "XAER_NOTA: Unknown XID")
}

fn invalid() -> Error {
    Error::new(
        errno::ER_XAER_INVAL,
        "XAER_INVAL: Invalid arguments (or unsupported command)",
    )
}

fn outside() -> Error {
    Error::new(
        errno::ER_XAER_OUTSIDE,
        "XAER_OUTSIDE: Some work is done outside global transaction",
    )
}

/// The session's branch, if it has this xid and is in the state that the statement needs.
///
/// # Errors
/// 1399 in another state, 1397 for another xid.
fn own<'s>(session: &'s mut Session, xid: &Xid, state: XaState) -> Result<&'s mut XaBranch> {
    let now = session.transaction.xa_state();
    match &mut session.transaction.xa {
        Some(branch) if now == Some(state) && branch.active.xid() == xid => Ok(branch),
        _ if now == Some(state) => Err(unknown_xid()),
        _ => Err(XaState::refusal(now)),
    }
}

fn start(session: &mut Session, xid: Xid, joins: XaJoin) -> Result<()> {
    if joins == XaJoin::Resume && session.transaction.xa_state() == Some(XaState::Idle) {
        own(session, &xid, XaState::Idle)?.state = XaState::Active;
        return Ok(());
    }
    if joins != XaJoin::Nothing {
        return Err(invalid());
    }
    session.transaction.check_outside_xa()?;
    if session.transaction.in_transaction() || session.table_locks.is_locked() {
        return Err(outside());
    }
    let active = session.shared.engine.cluster.xa().begin(xid)?;
    let runner = session.runner();
    runner.transaction.begin(runner.env, BeginOptions::default())?;
    session.transaction.xa = Some(XaBranch {
        active,
        state: XaState::Active,
    });
    Ok(())
}

fn end(session: &mut Session, xid: &Xid, suspends: bool) -> Result<()> {
    if suspends {
        return Err(invalid());
    }
    if let Some(branch) = &session.transaction.xa
        && let XaState::RollbackOnly { deadlock } = branch.state
        && branch.active.xid() == xid
    {
        return Err(XaState::rolled_back(deadlock));
    }
    own(session, xid, XaState::Active)?.state = XaState::Idle;
    Ok(())
}

/// The session continues without the branch, and any session may end the branch.
fn prepare(session: &mut Session, xid: &Xid) -> Result<()> {
    own(session, xid, XaState::Idle)?;
    let Some(branch) = session.transaction.xa.take() else {
        return Err(unknown_xid());
    };
    session.transaction.next = Characteristics::default();
    let Some((transaction, locks)) = session.transaction.detach() else {
        return Err(XaState::rolled_back(false));
    };
    session.transaction.ends.prepares += 1;
    let engine = &session.shared.engine;
    let cluster = &engine.cluster;
    cluster.xa().prepare(
        &branch.active,
        transaction,
        locks,
        &cluster.schema(),
        engine.durability(),
    )
}

fn commit(session: &mut Session, xid: &Xid, one_phase: bool) -> Result<()> {
    if session.transaction.xa.is_none() {
        return finish(session, xid, true);
    }
    let is_own = session
        .transaction
        .xa
        .as_ref()
        .is_some_and(|branch| branch.active.xid() == xid);
    match session.transaction.xa_state() {
        Some(XaState::Idle) if one_phase && is_own => {
            session.transaction.xa = None;
            session.transaction.next = Characteristics::default();
            session.runner().commit()
        }
        Some(XaState::RollbackOnly { deadlock }) if is_own => {
            session.transaction.xa = None;
            session.runner().rollback();
            Err(XaState::rolled_back(deadlock))
        }
        state => Err(XaState::refusal(state)),
    }
}

fn rollback(session: &mut Session, xid: &Xid) -> Result<()> {
    let Some(branch) = &session.transaction.xa else {
        return finish(session, xid, false);
    };
    if branch.active.xid() != xid || branch.state == XaState::Active {
        return Err(XaState::refusal(Some(branch.state)));
    }
    session.transaction.xa = None;
    session.transaction.next = Characteristics::default();
    session.runner().rollback();
    Ok(())
}

/// Ends a prepared branch, which belongs to no session.
fn finish(session: &mut Session, xid: &Xid, commit: bool) -> Result<()> {
    let engine = &session.shared.engine;
    let branches = engine.cluster.xa();
    if session.transaction.in_transaction() || session.table_locks.is_locked() {
        return Err(XaState::refusal(None));
    }
    branches.end(xid, commit, engine.durability())?;
    let ends = &mut session.transaction.ends;
    match commit {
        true => ends.commits += 1,
        false => ends.rollbacks += 1,
    }
    Ok(())
}

/// XA RECOVER. `convert`: data as hexadecimal numbers.
pub fn recover(session: &Session, convert: bool) -> Result<Listing> {
    let privileges = [Privilege::Super];
    let allowed = session
        .client
        .check_any("XA_RECOVER_ADMIN", &privileges, &["XA_RECOVER_ADMIN"]);
    if allowed.is_err() {
        return Err(Error::new(
            errno::ER_XAER_RMERR,
            "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency",
        ));
    }
    let length = SqlType {
        length: 12,
        ..SqlType::BIGINT
    };
    let data = SqlType::varchar(DATA_CHARS, Collation::DEFAULT);
    let mut listing = Listing::new(&[
        ("formatID", length),
        ("gtrid_length", length),
        ("bqual_length", length),
        ("data", data),
    ])
    .all_never_null();
    for xid in session.shared.engine.cluster.xa().prepared()? {
        let data = [xid.global.as_slice(), &xid.branch].concat();
        listing.push(vec![
            Value::Int(i64::try_from(xid.format).unwrap_or(i64::MAX)),
            Value::Int(xid.global.len() as i64),
            Value::Int(xid.branch.len() as i64),
            match convert {
                true => Value::String(hexadecimal(&data)),
                false => Value::Bytes(data),
            },
        ]);
    }
    Ok(listing)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("0x{digits}")
}
