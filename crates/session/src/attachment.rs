//! Data that the first run of a plan prepares. It is attached to the plan and used by all sessions.

use std::sync::{Arc, OnceLock};

use executor::direct::point::PointSelect;
use functions::RowPlace;
use planner::CachedPlan;
use planner::plan::{Plan, QueryPlan, Route};
use wire::framing::FrameEncoder;

use crate::columns::{ColumnPackets, Columns};
use crate::events::Events;
use crate::events::event::RowChanges;
use crate::events::table_io::PlaceIo;
use crate::reply_context::ReplyContext;

/// See the module.
struct QueryAttachment {
    point: Option<Point>,
    column_packets: ColumnPackets,
}

/// A point select, and the counters of the key that it reads by.
pub struct Point {
    pub select: PointSelect,
    place: RowPlace,
    io: OnceLock<Arc<PlaceIo>>,
}

impl Point {
    pub fn io(&self, events: &Events) -> &PlaceIo {
        self.io.get_or_init(|| events.table_io.of(self.place))
    }
}

/// The counters of what the plan of a write reads and changes, if it has one table.
struct WriteAttachment {
    read: Option<Arc<PlaceIo>>,
    changed: Option<Arc<PlaceIo>>,
}

/// Counts the rows that a write has changed, and `read` rows that the executor has not counted by table, at the place
/// that its plan names.
pub fn count_write(plan: &CachedPlan, events: &Events, read: u64, changes: &RowChanges) {
    let attached = plan.attachment.get_or_init(|| {
        let io = |place: RowPlace| events.table_io.of(place);
        let (read, changed) = match &plan.plan {
            Plan::Insert(insert) => {
                let place = RowPlace {
                    table: insert.table.id,
                    index: None,
                };
                (None, Some(place))
            }
            Plan::Update(update) => (Some(update.target.scan.place()), Some(update.target.scan.place())),
            Plan::Delete(delete) => (Some(delete.target.scan.place()), Some(delete.target.scan.place())),
            Plan::FoundWrite(_) | Plan::Query(_) => (None, None),
        };
        Box::new(WriteAttachment {
            read: read.map(io),
            changed: changed.map(io),
        })
    });
    let Some(attached) = attached.downcast_ref::<WriteAttachment>() else {
        return;
    };
    if let (Some(io), 1..) = (&attached.read, read) {
        io.read(read);
    }
    if let Some(io) = &attached.changed {
        io.changed(changes);
    }
}

/// The plan as a point select, if it is one.
pub fn point_of<'a>(plan: &'a CachedPlan, reply: &ReplyContext, select_limit: u64) -> Option<&'a Point> {
    let Plan::Query(query) = &plan.plan else {
        return None;
    };
    if query.route == Route::Analytical || select_limit == 0 || query.limit_of_output.is_some() {
        return None;
    }
    attachment(plan, query, reply)?.point.as_ref()
}

/// The columns of a plan's result, with their encoded packets if these are valid for the session.
pub fn columns_of<'a>(plan: &'a CachedPlan, query: &'a QueryPlan, reply: &ReplyContext) -> Columns<'a> {
    let packets = attachment(plan, query, reply).map(|attachment| &attachment.column_packets);
    Columns {
        all: &query.columns,
        packets: packets.filter(|packets| packets.results == reply.results),
    }
}

fn point(query: &QueryPlan) -> Option<Point> {
    let select = PointSelect::compile(query)?;
    let place = query.root.scans().first()?.place();
    Some(Point {
        select,
        place,
        io: OnceLock::new(),
    })
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
            point: point(query),
            column_packets: ColumnPackets {
                results: reply.results,
                packets,
            },
        })
    });
    attached.downcast_ref()
}
