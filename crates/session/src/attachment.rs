//! Data that the first run of a plan prepares. It is attached to the plan and used by all sessions.

use std::sync::{Arc, OnceLock};

use executor::direct::point::PointSelect;
use functions::{ByPlace, RowPlace};
use planner::CachedPlan;
use planner::plan::{Plan, QueryPlan, Route, TableScan};
use wire::framing::FrameEncoder;

use crate::columns::{ColumnPackets, Columns};
use crate::events::Events;
use crate::events::event::RowChanges;
use crate::events::table_io::PlaceIo;
use crate::reply_context::ReplyContext;

/// See the module.
struct QueryAttachment {
    point: Option<PointSelect>,
    reads: ReadPlaces,
    column_packets: ColumnPackets,
}

/// Where a plan reads rows.
pub struct ReadPlaces {
    /// If there is only one place: the executors need not count by place.
    only: Option<RowPlace>,
    /// Its counters.
    io: OnceLock<Arc<PlaceIo>>,
}

impl ReadPlaces {
    fn of(scans: &[&TableScan]) -> Self {
        let only = match scans {
            [scan] => Some(scan.place()),
            _ => None,
        };
        Self {
            only,
            io: OnceLock::new(),
        }
    }

    /// Which rows the executors have to count by place.
    pub fn by_place(&self) -> ByPlace {
        match self.only {
            Some(_) => ByPlace::OfLargerPlan,
            None => ByPlace::All,
        }
    }

    /// Counts rows at the only place.
    pub fn count(&self, events: &Events, rows: u64) {
        if let (Some(place), 1..) = (self.only, rows) {
            self.io.get_or_init(|| events.table_io.of(place)).read(rows);
        }
    }
}

/// Where the plan of a write reads and changes rows.
pub struct WriteAttachment {
    pub reads: ReadPlaces,
    /// `None`: in several tables, which the executor counts.
    changed: Option<Arc<PlaceIo>>,
}

impl WriteAttachment {
    pub fn count(&self, changes: &RowChanges) {
        if let Some(io) = &self.changed {
            io.changed(changes);
        }
    }
}

/// Of the plan of a write.
pub fn write_of<'a>(plan: &'a CachedPlan, events: &Events) -> Option<&'a WriteAttachment> {
    let attached = plan.attachment.get_or_init(|| {
        let (changed, scans) = match &plan.plan {
            Plan::Insert(insert) => {
                let place = RowPlace {
                    table: insert.table.id,
                    index: None,
                };
                (Some(place), plan.plan.scans())
            }
            Plan::Update(update) => (Some(update.target.scan.place()), plan.plan.scans()),
            Plan::Delete(delete) => (Some(delete.target.scan.place()), plan.plan.scans()),
            Plan::FoundWrite(_) | Plan::Query(_) => (None, Vec::new()),
        };
        Box::new(WriteAttachment {
            reads: ReadPlaces::of(&scans),
            changed: changed.map(|place| events.table_io.of(place)),
        })
    });
    attached.downcast_ref()
}

/// Where a query reads rows.
pub fn reads_of<'a>(plan: &'a CachedPlan, query: &QueryPlan, reply: &ReplyContext) -> Option<&'a ReadPlaces> {
    Some(&attachment(plan, query, reply)?.reads)
}

/// The plan as a point select, if it is one, and where it reads.
pub fn point_of<'a>(
    plan: &'a CachedPlan,
    reply: &ReplyContext,
    select_limit: u64,
) -> Option<(&'a PointSelect, &'a ReadPlaces)> {
    let Plan::Query(query) = &plan.plan else {
        return None;
    };
    if query.route == Route::Analytical || select_limit == 0 || query.limit_of_output.is_some() {
        return None;
    }
    let attached = attachment(plan, query, reply)?;
    Some((attached.point.as_ref()?, &attached.reads))
}

/// The columns of a plan's result, with their encoded packets if these are valid for the session.
pub fn columns_of<'a>(plan: &'a CachedPlan, query: &'a QueryPlan, reply: &ReplyContext) -> Columns<'a> {
    let packets = attachment(plan, query, reply).map(|attachment| &attachment.column_packets);
    Columns {
        all: &query.columns,
        packets: packets.filter(|packets| packets.results == reply.results),
    }
}

fn attachment<'a>(
    plan: &'a CachedPlan,
    query: &QueryPlan,
    reply: &ReplyContext,
) -> Option<&'a QueryAttachment> {
    let attached = plan.attachment.get_or_init(|| {
        let mut packets = FrameEncoder::new();
        // Writing to a buffer cannot fail.
        let _ = reply.send_count_and_definitions(&query.columns, &mut packets);
        Box::new(QueryAttachment {
            point: PointSelect::compile(query),
            reads: ReadPlaces::of(&plan.plan.scans()),
            column_packets: ColumnPackets {
                results: reply.results,
                packets,
            },
        })
    });
    attached.downcast_ref()
}
