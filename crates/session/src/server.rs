//! What functions ask of the server.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use accounts::Account;
use functions::{FileContents, Server};

use crate::server_files;
use crate::shared::Shared;

impl Server for Shared {
    fn read(&self, name: &Path, bytes_max: usize) -> FileContents {
        server_files::read(&self.variables, name, bytes_max)
    }

    fn has_connection(&self, id: u64) -> bool {
        self.processes.find(id).is_some()
    }

    fn roles_graph(&self) -> String {
        let accounts = self.catalog.accounts.current();
        let accounts: Vec<_> = accounts.iter().collect();
        let mut graph = GRAPH_HEAD.to_owned();
        for (number, account) in accounts.iter().enumerate() {
            let (user, host) = (escaped(&account.user), escaped(&account.host));
            let _ = write!(
                graph,
                "    <node id=\"n{number}\">\n      <data key=\"key1\">`{user}`@`{host}`</data>\n    </node>\n"
            );
        }
        let mut edges = 0;
        for (source, account) in accounts.iter().enumerate() {
            for role in account.roles.iter().filter(|role| !role.mandatory) {
                let is_role =
                    |other: &&Arc<Account>| (&other.user, &other.host) == (&role.name.0, &role.name.1);
                let Some(target) = accounts.iter().position(is_role) else {
                    continue;
                };
                let _ = write!(
                    graph,
                    "    <edge id=\"e{edges}\" source=\"n{source}\" target=\"n{target}\">\n      \
                     <data key=\"key0\">{}</data>\n    </edge>\n",
                    u8::from(role.with_admin)
                );
                edges += 1;
            }
        }
        graph + "  </graph>\n</graphml>\n"
    }
}

const GRAPH_HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="key0" for="edge" attr.name="color" attr.type="int" />
  <key id="key1" for="node" attr.name="name" attr.type="string" />
  <graph id="G" edgedefault="directed" parse.nodeids="canonical" parse.edgeids="canonical" parse.order="nodesfirst">
"#;

/// A text within XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}
