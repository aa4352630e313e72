//! Looks for an order of all moments that explains what clients have seen.
//!
//! A list's elements are in the order of the commits that appended them, so reads say which commit came before
//! which: the order of a list is that of its longest read. Three rules give edges between moments, as in Elle
//! (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB 2020):
//! a commit that appends comes after the one that appended the element before (ww), a read comes after the
//! commit whose element is the last that it has (wr), and before the commit whose element comes next (rw).
//! A fourth one is time: what was answered comes before what was asked for later. A cycle is an anomaly.
//!
//! A transaction that sees a part of another one, a snapshot that moves, a lost update, a commit that a later
//! reader does not see: each is a cycle. Aborted and intermediate reads, and elements that are lost or there
//! twice, are found without edges.

use std::collections::{HashMap, HashSet, VecDeque};

use super::history::{History, List, Moment, Read};

/// How many anomalies are described.
const DESCRIBED: usize = 3;

/// An error describes the first anomalies. The last moment has to be a read of all lists, after everything.
pub fn check(history: &History) -> Result<(), String> {
    let versions = versions(history);
    let mut anomalies = elements(history, &versions);
    if anomalies.is_empty() {
        let graph = Graph::new(history, &versions)?;
        anomalies.extend(graph.cycle().map(|cycle| graph.describe(&cycle)));
    }
    match anomalies.is_empty() {
        true => Ok(()),
        false => {
            let count = anomalies.len();
            anomalies.truncate(DESCRIBED);
            Err(format!("{count} anomalies: {}", anomalies.join("; ")))
        }
    }
}

type Versions<'a> = HashMap<List, &'a [u64]>;

/// The longest read of each list.
fn versions(history: &History) -> Versions<'_> {
    let mut versions = Versions::new();
    for read in history.moments.iter().flat_map(|moment| &moment.reads) {
        let longest = versions.entry(read.list).or_default();
        if read.values.len() > longest.len() {
            *longest = &read.values;
        }
    }
    versions
}

/// Anomalies of single reads and elements.
fn elements(history: &History, versions: &Versions<'_>) -> Vec<String> {
    let mut anomalies = Vec::new();
    for (list, values) in versions {
        let mut seen = HashSet::new();
        for value in *values {
            if history.aborted.contains(value) {
                anomalies.push(format!("{value} in {list:?} was rolled back"));
            }
            if !seen.insert(value) {
                anomalies.push(format!("{value} is twice in {list:?}"));
            }
        }
    }
    for moment in &history.moments {
        for Read { list, values } in &moment.reads {
            let longest = versions[list];
            if !longest.starts_with(values) {
                let name = &moment.name;
                anomalies.push(format!("{name} read {values:?} in {list:?}, others {longest:?}"));
            }
        }
    }
    let last = history.moments.last().map(|last| &last.reads[..]);
    let last: HashSet<(List, u64)> = last
        .unwrap_or_default()
        .iter()
        .flat_map(|read| read.values.iter().map(|value| (read.list, *value)))
        .collect();
    for moment in &history.moments {
        let lost = moment.appends.iter().filter(|append| !last.contains(append));
        anomalies.extend(lost.map(|append| format!("{append:?} of {} is lost", moment.name)));
    }
    anomalies
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    to: usize,
    why: &'static str,
    list: List,
}

/// The moments, and after them one node for each answer, in the order of time.
struct Graph<'a> {
    moments: &'a [Moment],
    edges: Vec<Vec<Edge>>,
}

impl<'a> Graph<'a> {
    fn new(history: &'a History, versions: &Versions<'_>) -> Result<Self, String> {
        let moments = &history.moments[..];
        let mut graph = Self {
            moments,
            edges: vec![Vec::new(); moments.len() * 2],
        };
        let appends = moments
            .iter()
            .enumerate()
            .flat_map(|(number, moment)| moment.appends.iter().map(move |append| (*append, number)));
        let writers: HashMap<(List, u64), usize> = appends.collect();
        for (list, values) in versions {
            let mut before = None;
            for value in *values {
                let writer = *writers
                    .get(&(*list, *value))
                    .ok_or_else(|| format!("nobody appended {value} to {list:?}"))?;
                graph.add(before, Some(writer), "ww", *list);
                before = Some(writer);
            }
        }
        for (number, moment) in moments.iter().enumerate() {
            for Read { list, values } in &moment.reads {
                graph.read(number, *list, values.len(), versions[list], &writers)?;
            }
        }
        graph.time();
        Ok(graph)
    }

    /// A moment has read the first `count` of a list's values.
    fn read(
        &mut self,
        reader: usize,
        list: List,
        count: usize,
        values: &[u64],
        writers: &HashMap<(List, u64), usize>,
    ) -> Result<(), String> {
        let writer = |value: &u64| writers[&(list, *value)];
        let (seen, unseen) = values.split_at(count);
        let last = seen.last().map(writer);
        let next = unseen.iter().map(writer).find(|next| *next != reader);
        if last.is_some() && last != Some(reader) && unseen.first().map(writer) == last {
            let (reader, writer) = (
                &self.moments[reader].name,
                &self.moments[last.unwrap_or_default()].name,
            );
            return Err(format!(
                "{reader} read a list {list:?} that {writer} had not finished"
            ));
        }
        self.add(last, Some(reader), "wr", list);
        self.add(Some(reader), next, "rw", list);
        Ok(())
    }

    fn add(&mut self, from: Option<usize>, to: Option<usize>, why: &'static str, list: List) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.edges[from].push(Edge { to, why, list });
        }
    }

    /// Each moment comes before its answer, answers follow each other, and a moment comes after the last answer
    /// before it was asked for.
    fn time(&mut self) {
        let count = self.moments.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|moment| self.moments[*moment].answered);
        for (place, moment) in order.iter().enumerate() {
            self.add(Some(*moment), Some(count + place), "answered", (0, 0));
            if place + 1 < count {
                self.add(Some(count + place), Some(count + place + 1), "before", (0, 0));
            }
        }
        for moment in 0..count {
            let asked = self.moments[moment].asked;
            let answered = order.partition_point(|other| self.moments[*other].answered < asked);
            let last = answered.checked_sub(1).map(|place| count + place);
            self.add(last, Some(moment), "asked", (0, 0));
        }
    }

    /// A short cycle, as nodes and the edges to the next one.
    fn cycle(&self) -> Option<Vec<(usize, Edge)>> {
        let left = self.in_cycles_or_between();
        let count = self.moments.len();
        let cycles = (0..count)
            .filter(|node| left[*node])
            .filter_map(|node| self.back_to(node));
        cycles.min_by_key(|cycle| cycle.iter().filter(|(node, _)| *node < count).count())
    }

    /// Nodes that are left when nodes without predecessors, and nodes without successors, are removed until
    /// there are none.
    fn in_cycles_or_between(&self) -> Vec<bool> {
        let mut left = vec![true; self.edges.len()];
        let mut back: Vec<Vec<usize>> = vec![Vec::new(); self.edges.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|edge| back[edge.to].push(from));
        }
        let forth: Vec<Vec<usize>> = self
            .edges
            .iter()
            .map(|edges| edges.iter().map(|edge| edge.to).collect())
            .collect();
        for (next, previous) in [(&forth, &back), (&back, &forth)] {
            let mut degree: Vec<usize> = previous
                .iter()
                .map(|nodes| nodes.iter().filter(|node| left[**node]).count())
                .collect();
            let mut free: Vec<usize> = (0..degree.len())
                .filter(|node| left[*node] && degree[*node] == 0)
                .collect();
            while let Some(node) = free.pop() {
                left[node] = false;
                for to in next[node].iter().filter(|to| left[**to]) {
                    degree[*to] -= 1;
                    if degree[*to] == 0 {
                        free.push(*to);
                    }
                }
            }
        }
        left
    }

    /// The shortest way from a node to itself.
    fn back_to(&self, start: usize) -> Option<Vec<(usize, Edge)>> {
        let mut from: HashMap<usize, (usize, Edge)> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for edge in &self.edges[node] {
                if from.contains_key(&edge.to) {
                    continue;
                }
                from.insert(edge.to, (node, *edge));
                if edge.to != start {
                    queue.push_back(edge.to);
                    continue;
                }
                let mut cycle = vec![from[&start]];
                while cycle[cycle.len() - 1].0 != start {
                    cycle.push(from[&cycle[cycle.len() - 1].0]);
                }
                cycle.reverse();
                return Some(cycle);
            }
        }
        None
    }

    fn describe(&self, cycle: &[(usize, Edge)]) -> String {
        let mut text = "a cycle:".to_owned();
        for (node, edge) in cycle {
            if let Some(moment) = self.moments.get(*node) {
                text += &format!(" {} -{} {:?}->", moment.name, edge.why, edge.list);
            }
        }
        text
    }
}
