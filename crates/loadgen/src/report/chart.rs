//! Charts as SVG text: lines and bars. Colours come from the page's style sheet, by class.

use std::fmt::Write;

use super::axis::{Axis, short};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;
/// The number of colours. Further lines reuse them.
const COLOURS: usize = 6;
/// Lines with up to so many points have their points marked.
const MARKED_POINTS: usize = 16;

/// The horizontal axis.
pub enum Across {
    /// Names at even distances; points have their positions.
    Names(Vec<String>),
    /// Numbers from 0 to this one.
    Numbers(f64),
}

pub struct Line {
    pub name: String,
    pub colour: usize,
    pub dashed: bool,
    pub points: Vec<(f64, f64)>,
}

pub struct LineChart {
    pub title: String,
    pub across: Across,
    pub across_label: &'static str,
    pub unit: &'static str,
    pub logarithmic: bool,
    pub lines: Vec<Line>,
}

pub struct BarChart {
    pub title: String,
    pub unit: &'static str,
    pub groups: Vec<String>,
    /// Name, and one value for each group.
    pub series: Vec<(String, Vec<Option<f64>>)>,
}

/// Text for HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
    out
}

fn plot_height() -> f64 {
    HEIGHT - TOP - BOTTOM
}

fn plot_width() -> f64 {
    WIDTH - LEFT - RIGHT
}

fn y(axis: Axis, value: f64) -> Option<f64> {
    axis.place(value).map(|place| TOP + plot_height() * (1.0 - place))
}

/// Writing to a String cannot fail; this ignores the result in one place.
macro_rules! put {
    ($out:expr, $($arguments:tt)*) => { let _ = write!($out, $($arguments)*); };
}

fn start(title: &str, unit: &str, axis: Axis, out: &mut String) {
    put!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\
         <text class=\"title\" x=\"{LEFT}\" y=\"15\">{title}<tspan class=\"unit\"> · {unit}</tspan></text>",
        title = escape(title),
        unit = escape(unit),
    );
    for tick in axis.ticks() {
        let Some(y) = y(axis, tick) else { continue };
        put!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 3.5,
            short(tick)
        );
    }
}

fn name_below(x: f64, text: &str, out: &mut String) {
    put!(
        out,
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        HEIGHT - BOTTOM + 16.0,
        escape(text)
    );
}

fn label_below(label: &str, out: &mut String) {
    put!(
        out,
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        LEFT + plot_width() / 2.0,
        HEIGHT - 8.0,
        escape(label)
    );
}

impl LineChart {
    pub fn svg(&self) -> String {
        let values = || {
            self.lines
                .iter()
                .flat_map(|line| line.points.iter().map(|(_, value)| *value))
        };
        let axis = if self.logarithmic {
            Axis::log(values())
        } else {
            Axis::linear(values())
        };
        let mut out = String::new();
        start(&self.title, self.unit, axis, &mut out);
        self.across(&mut out);
        label_below(self.across_label, &mut out);
        for line in &self.lines {
            self.line(line, axis, &mut out);
        }
        out.push_str("</svg>");
        out
    }

    fn x(&self, at: f64) -> f64 {
        let part = match &self.across {
            // Half a step of space on both sides.
            Across::Names(names) => (at + 0.5) / names.len().max(1) as f64,
            Across::Numbers(end) => at / end.max(f64::MIN_POSITIVE),
        };
        LEFT + plot_width() * part.clamp(0.0, 1.0)
    }

    fn across(&self, out: &mut String) {
        match &self.across {
            Across::Names(names) => {
                for (position, name) in names.iter().enumerate() {
                    name_below(self.x(position as f64), name, out);
                }
            }
            Across::Numbers(end) => {
                let ticks = Axis::linear(std::iter::once(*end)).ticks();
                for tick in ticks.into_iter().filter(|tick| tick <= end) {
                    name_below(self.x(tick), &short(tick), out);
                }
            }
        }
    }

    fn line(&self, line: &Line, axis: Axis, out: &mut String) {
        let places: Vec<(f64, f64, f64)> = line
            .points
            .iter()
            .filter_map(|(at, value)| Some((self.x(*at), y(axis, *value)?, *value)))
            .collect();
        let dashed = if line.dashed { " dashed" } else { "" };
        put!(
            out,
            "<g class=\"c{}{dashed}\"><polyline points=\"",
            line.colour % COLOURS
        );
        for (x, y, _) in &places {
            put!(out, "{x:.1},{y:.1} ");
        }
        put!(out, "\"><title>{}</title></polyline>", escape(&line.name));
        if places.len() <= MARKED_POINTS {
            for (x, y, value) in &places {
                put!(
                    out,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{}: {} {}</title></circle>",
                    escape(&line.name),
                    short(*value),
                    escape(self.unit)
                );
            }
        }
        out.push_str("</g>");
    }
}

impl BarChart {
    pub fn svg(&self) -> String {
        let values = self
            .series
            .iter()
            .flat_map(|(_, values)| values.iter().copied().flatten());
        let axis = Axis::linear(values);
        let mut out = String::new();
        start(&self.title, self.unit, axis, &mut out);
        let group_width = plot_width() / self.groups.len().max(1) as f64;
        let bar_width = (group_width * 0.8 / self.series.len().max(1) as f64).min(56.0);
        for (group, name) in self.groups.iter().enumerate() {
            let middle = LEFT + group_width * (group as f64 + 0.5);
            name_below(middle, name, &mut out);
            let first = middle - bar_width * self.series.len() as f64 / 2.0;
            for (position, (series, values)) in self.series.iter().enumerate() {
                let Some(value) = values.get(group).copied().flatten() else {
                    continue;
                };
                let Some(top) = y(axis, value) else { continue };
                let x = first + bar_width * position as f64;
                put!(
                    out,
                    "<g class=\"c{}\"><rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\">\
                     <title>{}, {}: {} {}</title></rect></g>\
                     <text class=\"value\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    position % COLOURS,
                    x + 1.0,
                    (bar_width - 2.0).max(1.0),
                    (TOP + plot_height() - top).max(0.0),
                    escape(series),
                    escape(name),
                    short(value),
                    escape(self.unit),
                    x + bar_width / 2.0,
                    top - 4.0,
                    short(value)
                );
            }
        }
        out.push_str("</svg>");
        out
    }
}
