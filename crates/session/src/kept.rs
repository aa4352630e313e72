//! What is made of a query's plan with its first run, and kept beside it for all sessions.

use executor::direct::point::PointSelect;
use planner::CachedPlan;
use planner::plan::{Plan, QueryPlan, ResultColumn, Route};
use types::Charset;
use wire::framing::FrameEncoder;

use crate::session::Session;

/// See the module's documentation.
pub(crate) struct Kept {
    point: Option<PointSelect>,
    told: Told,
}

/// The packets that tell a client of a result's columns, but for the one behind them.
pub(crate) struct Told {
    /// They depend on `@@character_set_results`: it is that of the first who ran the plan, and nearly always all others'.
    results: Option<Charset>,
    packets: FrameEncoder,
}

/// A result's columns.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub all: &'a [ResultColumn],
    pub told: Option<&'a Told>,
}

impl Session {
    pub(crate) fn kept<'a>(&self, plan: &'a CachedPlan) -> Option<&'a Kept> {
        let Plan::Query(query) = &plan.plan else {
            return None;
        };
        let kept = plan.attachment.get_or_init(|| {
            Box::new(Kept {
                point: PointSelect::compile(query),
                told: Told {
                    results: self.settings.charset_results,
                    packets: self.packets_of(&query.columns),
                },
            })
        });
        kept.downcast_ref()
    }

    /// The point select that a plan comes to.
    pub(crate) fn point_of<'a>(&self, plan: &'a CachedPlan) -> Option<&'a PointSelect> {
        let Plan::Query(query) = &plan.plan else {
            return None;
        };
        if query.route == Route::Analytical
            || self.settings.select_limit == 0
            || query.limit_of_output.is_some()
        {
            return None;
        }
        self.kept(plan)?.point.as_ref()
    }

    pub(crate) fn columns_of<'a>(&self, plan: &'a CachedPlan, query: &'a QueryPlan) -> Columns<'a> {
        let told = self.kept(plan).map(|kept| &kept.told);
        Columns {
            all: &query.columns,
            told: told.filter(|told| told.results == self.settings.charset_results),
        }
    }

    fn packets_of(&self, columns: &[ResultColumn]) -> FrameEncoder {
        let mut packets = FrameEncoder::new();
        // A buffer takes everything.
        let _ = self.send_count_and_definitions(columns, &mut packets);
        packets
    }
}

impl Told {
    pub fn packets(&self) -> &FrameEncoder {
        &self.packets
    }
}

impl<'a> From<&'a [ResultColumn]> for Columns<'a> {
    fn from(all: &'a [ResultColumn]) -> Self {
        Self { all, told: None }
    }
}
