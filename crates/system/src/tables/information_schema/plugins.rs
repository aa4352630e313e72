//! The authentication plugins.

use schema::model::SystemTraits;
use types::Result;

use crate::plugins::plugins;
use crate::table::{Context, Row, SystemTable};

pub(crate) struct Plugins;

impl SystemTable for Plugins {
    fn name(&self) -> &'static str {
        "information_schema.PLUGINS"
    }

    fn columns(&self) -> &'static str {
        r#"
PLUGIN_NAME varchar(64) ci NOT ""
PLUGIN_VERSION varchar(20) ci NOT ""
PLUGIN_STATUS varchar(10) ci NOT ""
PLUGIN_TYPE varchar(80) ci NOT ""
PLUGIN_TYPE_VERSION varchar(20) ci NOT ""
PLUGIN_LIBRARY varchar(64) ci NULL ""
PLUGIN_LIBRARY_VERSION varchar(20) ci NULL ""
PLUGIN_AUTHOR varchar(64) ci NULL ""
PLUGIN_DESCRIPTION varchar(65535) ci NULL ""
PLUGIN_LICENSE varchar(80) ci NULL ""
LOAD_OPTION varchar(64) ci NOT ""
"#
    }

    fn traits(&self) -> SystemTraits {
        // MySQL fills it when it is read.
        SystemTraits::default()
    }

    fn rows(&self, _: &Context<'_>) -> Result<Vec<Row>> {
        Ok(plugins())
    }
}
