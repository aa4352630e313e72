//! Data that the first run of a query's plan prepares. It is attached to the plan and used by all sessions.

use executor::direct::point::PointSelect;
use planner::CachedPlan;
use planner::plan::{Plan, QueryPlan, Route};
use wire::framing::FrameEncoder;

use crate::columns::{ColumnPackets, Columns};
use crate::reply_context::ReplyContext;

/// See the module.
struct QueryAttachment {
    point: Option<PointSelect>,
    column_packets: ColumnPackets,
}

/// The plan as a point select, if it is one.
pub fn point_of<'a>(
    plan: &'a CachedPlan,
    reply: &ReplyContext,
    select_limit: u64,
) -> Option<&'a PointSelect> {
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
            column_packets: ColumnPackets {
                results: reply.results,
                packets,
            },
        })
    });
    attached.downcast_ref()
}
