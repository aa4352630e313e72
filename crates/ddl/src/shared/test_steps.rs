//! Single steps of statements, for tests of what happens between them.

use schema::definition::{AlterChange, Ddl};
use schema::model::SchemaState;
use types::Result;

use super::step::{StepOptions, freeze as freeze_step, publish_state, stop_writers as stop_writers_step};
use super::{SharedJobs, Work};
use crate::about::About;
use crate::alter_plan::alter;
use crate::changer::{Jobs, SchemaChanger};
use crate::job::{Job, TableChange};
use crate::publish::Publisher;
use crate::test_support::{context, name, table};

fn jobs(db: &SchemaChanger) -> &SharedJobs {
    match &db.jobs {
        Jobs::Shared(jobs) => jobs,
        Jobs::Local(_) => panic!("not a node"),
    }
}

fn started<'a>(db: &'a SchemaChanger, make: impl Fn() -> Job) -> (Job, Work<'a>) {
    let ctx = context();
    jobs(db)
        .claim(&ctx.limit(), &|_| Ok(Some(make())))
        .unwrap()
        .unwrap()
}

/// Closes a table on all nodes.
pub(crate) fn freeze(db: &SchemaChanger, of: &str) -> Job {
    closed(db, of, |publisher, job, options| {
        freeze_step(publisher, job, options, |_| Ok(()))
    })
}

/// Closes a table to writers on all nodes, as a change whose rows get ids in their order.
pub(crate) fn stop_writers(db: &SchemaChanger, of: &str) -> Job {
    closed(db, of, |publisher, job, options| {
        stop_writers_step(publisher, job, options, |_| Ok(()))
    })
}

fn closed(
    db: &SchemaChanger,
    of: &str,
    close: impl Fn(&Publisher, &mut Job, &StepOptions<'_>) -> Result<()>,
) -> Job {
    let (mut job, work) = started(db, || Job {
        tables: vec![table(db, of).id],
        ..Job::of(&About::default())
    });
    let ctx = context();
    let limit = ctx.limit();
    close(&jobs(db).publisher, &mut job, &StepOptions::statement(&limit)).unwrap();
    std::mem::forget(work);
    job
}

/// Runs ALTER TABLE ... ADD INDEX until the index has a given state.
pub(crate) fn begin_index(db: &SchemaChanger, of: &str, change: AlterChange, state: SchemaState) -> Job {
    let ctx = context();
    let base = table(db, of);
    let altered = alter(&base, std::slice::from_ref(&change), &ctx).unwrap();
    let ddl = Ddl::AlterTable {
        name: name(of),
        changes: vec![change],
        way: Default::default(),
    };
    let (mut job, work) = started(db, || Job {
        tables: vec![base.id],
        change: Some(TableChange::of(&base, &altered, true)),
        ..Job::of(&About::of(&ddl, ctx.now_us))
    });
    let limit = ctx.limit();
    let options = StepOptions::statement(&limit);
    let publisher = &jobs(db).publisher;
    publish_state(publisher, &mut job, &options, SchemaState::DeleteOnly, None).unwrap();
    if state == SchemaState::WriteOnly {
        let before = Some(SchemaState::DeleteOnly);
        publish_state(publisher, &mut job, &options, state, before).unwrap();
    }
    std::mem::forget(work);
    job
}

/// Simulates a crash: the process no longer knows the job.
pub(crate) fn abandon(db: &SchemaChanger, job: Job) {
    db.stop();
    db.cluster().stop();
    jobs(db).in_work.forget(job.id);
}

pub(crate) fn take_over(db: &SchemaChanger, job: &Job) -> Job {
    let own = db.cluster().node().unwrap().id;
    jobs(db).take_over(job, own).unwrap().unwrap()
}

pub(crate) fn finish(db: &SchemaChanger, mut job: Job) -> Result<()> {
    let ctx = context();
    let limit = ctx.limit();
    jobs(db).build_online(&mut job, &StepOptions::statement(&limit), ctx.watch())?;
    Ok(())
}
