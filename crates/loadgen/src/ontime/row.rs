//! A flight as the values of an INSERT, in the order of [`COLUMNS`](super::schema::COLUMNS).
//!
//! As in the real data, numbers that were not reported are NULL, and texts are empty: times of cancelled
//! flights, taxi times and aircraft before 1995, the causes of delays before June 2003 and of flights on
//! time, diversions before October 2008.

use std::fmt::Write;

use super::airports::Airport;
use super::calendar::Day;
use super::flight::{Fate, Flight, Times};

/// Columns that describe one of five diversions.
const DIVERSIONS: usize = 5;
const TEXT_ABSENT: &str = "";

/// Appends `(id, ...)`.
pub fn write_row(out: &mut String, id: u64, flight: &Flight) {
    let mut values = Values { out };
    values.out.push('(');
    let _ = write!(values.out, "{id}");
    when_and_who(&mut values, flight);
    airport(&mut values, flight.origin, flight.day);
    airport(&mut values, flight.dest, flight.day);
    let seen = Seen::of(flight);
    departure(&mut values, flight, &seen);
    arrival(&mut values, flight, &seen);
    outcome(&mut values, flight, &seen);
    causes(&mut values, flight, &seen);
    gate_return(&mut values, flight);
    diversions(&mut values, flight, &seen);
    values.out.push(')');
}

/// Appends values to a statement. Texts come from our own tables and need no escaping.
struct Values<'a> {
    out: &'a mut String,
}

impl Values<'_> {
    fn int(&mut self, value: impl Into<i64>) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, ",{}", value.into());
    }

    fn int_or_null(&mut self, value: Option<impl Into<i64>>) {
        match value {
            Some(value) => self.int(value),
            None => self.out.push_str(",NULL"),
        }
    }

    fn text(&mut self, value: &str) {
        self.out.push_str(",'");
        self.out.push_str(value);
        self.out.push('\'');
    }

    fn text_of(&mut self, value: impl std::fmt::Display) {
        let _ = write!(self.out, ",'{value}'");
    }

    /// Hours and minutes, as in `0905`, or empty.
    fn clock(&mut self, minutes: Option<i64>) {
        match minutes {
            Some(minutes) => self.text_of(format_args!("{:04}", hhmm(minutes))),
            None => self.text(TEXT_ABSENT),
        }
    }
}

/// The reported times of a flight: none of a cancelled one, and no arrival of one that did not reach its
/// destination.
struct Seen {
    times: Option<Times>,
    arrival_delay: Option<i64>,
    taxi_reported: bool,
}

impl Seen {
    fn of(flight: &Flight) -> Self {
        let (times, arrived) = match &flight.fate {
            Fate::Cancelled(_) => (None, false),
            Fate::Flown(times) => (Some(times.clone()), true),
            Fate::Diverted { times, .. } => (Some(times.clone()), false),
        };
        let arrival_delay = times.as_ref().filter(|_| arrived).map(|times| {
            i64::from(times.departure_delay) + i64::from(times.elapsed()) - i64::from(flight.scheduled)
        });
        Self {
            times,
            arrival_delay,
            taxi_reported: flight.day.year >= 1995,
        }
    }
}

fn when_and_who(values: &mut Values<'_>, flight: &Flight) {
    let day = flight.day;
    values.int(day.year);
    values.int(day.quarter());
    values.int(day.month);
    values.int(day.day);
    values.int(day.of_week());
    values.text_of(format_args!("{}-{:02}-{:02}", day.year, day.month, day.day));
    values.text(flight.carrier.unique);
    values.int(flight.carrier.airline_id);
    values.text(flight.carrier.code);
    values.text(&flight.tail);
    values.text_of(flight.number);
}

fn airport(values: &mut Values<'_>, airport: &Airport, day: Day) {
    let state = airport.state();
    values.int(airport.id);
    values.int(sequence_id(airport, day));
    values.int(airport.id + 20_000);
    values.text(airport.code);
    values.text_of(format_args!("{}, {}", airport.city, airport.state));
    values.text(airport.state);
    values.text(state.fips);
    values.text(state.name);
    values.int(state.wac);
}

/// An airport's description gets a new number when it changes, here every ten years.
fn sequence_id(airport: &Airport, day: Day) -> u32 {
    airport.id * 100 + u32::from(day.year - 1980) / 10
}

fn departure(values: &mut Values<'_>, flight: &Flight, seen: &Seen) {
    let departs = i64::from(flight.departs);
    let delay = seen.times.as_ref().map(|times| i64::from(times.departure_delay));
    values.int(hhmm(departs));
    values.int_or_null(delay.map(|delay| hhmm(departs + delay)));
    delays(values, delay);
    block(values, departs);
    let times = seen.times.as_ref().filter(|_| seen.taxi_reported);
    let wheels_off = |times: &Times| departs + i64::from(times.departure_delay) + i64::from(times.taxi_out);
    values.int_or_null(times.map(|times| times.taxi_out));
    values.int_or_null(times.map(|times| hhmm(wheels_off(times))));
    let landed = times.filter(|_| seen.arrival_delay.is_some());
    values.int_or_null(landed.map(|times| hhmm(wheels_off(times) + i64::from(times.air))));
    values.int_or_null(landed.map(|times| times.taxi_in));
}

fn arrival(values: &mut Values<'_>, flight: &Flight, seen: &Seen) {
    let arrives = i64::from(flight.departs + flight.scheduled);
    values.int(hhmm(arrives));
    values.int_or_null(seen.arrival_delay.map(|delay| hhmm(arrives + delay)));
    delays(values, seen.arrival_delay);
    block(values, arrives);
}

/// The delay, its minutes above zero, whether it is 15 or more, and its quarters of an hour from -2 to 12.
fn delays(values: &mut Values<'_>, delay: Option<i64>) {
    values.int_or_null(delay);
    values.int_or_null(delay.map(|delay| delay.max(0)));
    values.int_or_null(delay.map(|delay| i64::from(delay >= 15)));
    values.int_or_null(delay.map(|delay| delay.div_euclid(15).clamp(-2, 12)));
}

/// The hour of a time, as in `0900-0959`. The hours after midnight are one block.
fn block(values: &mut Values<'_>, minutes: i64) {
    match minutes.rem_euclid(1440) / 60 {
        0..6 => values.text("0001-0559"),
        hour => values.text_of(format_args!("{hour:02}00-{hour:02}59")),
    }
}

fn outcome(values: &mut Values<'_>, flight: &Flight, seen: &Seen) {
    let (cancelled, code, diverted) = match &flight.fate {
        Fate::Cancelled(code) => (1, *code, 0),
        Fate::Flown(_) => (0, TEXT_ABSENT, 0),
        Fate::Diverted { .. } => (0, TEXT_ABSENT, 1),
    };
    values.int(cancelled);
    values.text(code);
    values.int(diverted);
    values.int(flight.scheduled);
    let arrived = seen.times.as_ref().filter(|_| seen.arrival_delay.is_some());
    values.int_or_null(arrived.map(Times::elapsed));
    values.int_or_null(arrived.filter(|_| seen.taxi_reported).map(|times| times.air));
    values.int(1);
    values.int(flight.miles);
    values.int((flight.miles / 250 + 1).min(11));
}

/// The causes of a delay, with their minutes, for a flight that was 15 or more minutes late.
fn causes(values: &mut Values<'_>, flight: &Flight, seen: &Seen) {
    let reported = (flight.day.year, flight.day.month) >= (2003, 6);
    let Some(delay) = seen.arrival_delay.filter(|delay| reported && *delay >= 15) else {
        for _ in 0..5 {
            values.int_or_null(None::<i64>);
        }
        return;
    };
    // The share is computed from the flight, so that it needs no random number.
    let turn = u64::from(flight.number) + delay.unsigned_abs();
    let carrier = delay * ((turn % 5) as i64) / 5;
    let weather = (delay - carrier) * i64::from(turn.is_multiple_of(11)) / 2;
    let security = i64::from(turn.is_multiple_of(401)) * (delay - carrier - weather) / 3;
    let rest = delay - carrier - weather - security;
    let system = rest * ((turn % 3) as i64) / 3;
    for minutes in [carrier, weather, system, security, rest - system] {
        values.int(minutes);
    }
}

fn diversions_reported(day: Day) -> bool {
    (day.year, day.month) >= (2008, 10)
}

/// Three columns about returns to the gate, which happen to about one of 200 flights.
fn gate_return(values: &mut Values<'_>, flight: &Flight) {
    let left = match &flight.fate {
        Fate::Flown(times) | Fate::Diverted { times, .. } => Some(times),
        Fate::Cancelled(_) => None,
    };
    let returned = left.filter(|times| diversions_reported(flight.day) && times.departure_delay > 120);
    let first = returned.map(|times| i64::from(flight.departs) + i64::from(times.departure_delay % 60));
    values.clock(first);
    match returned {
        Some(times) => {
            values.text_of(20 + times.departure_delay % 60);
            values.text_of(20 + times.departure_delay % 60);
        }
        None => {
            values.text(TEXT_ABSENT);
            values.text(TEXT_ABSENT);
        }
    }
}

fn diversions(values: &mut Values<'_>, flight: &Flight, seen: &Seen) {
    let mut stops: &[&Airport] = &[];
    match &flight.fate {
        Fate::Diverted {
            times,
            stops: landings,
            reached,
        } if diversions_reported(flight.day) => {
            stops = landings;
            let elapsed = i64::from(times.elapsed() + flight.scheduled / 2);
            values.text_of(landings.len());
            values.text_of(u8::from(*reached));
            if *reached {
                values.text_of(elapsed);
                values.text_of(i64::from(times.departure_delay) + elapsed - i64::from(flight.scheduled));
                values.text("0");
            } else {
                values.text(TEXT_ABSENT);
                values.text(TEXT_ABSENT);
                let last = landings.last().map_or(0, |stop| stop.miles_to(flight.dest));
                values.text_of(last);
            }
        }
        _ => {
            values.text(if diversions_reported(flight.day) {
                "0"
            } else {
                TEXT_ABSENT
            });
            for _ in 0..4 {
                values.text(TEXT_ABSENT);
            }
        }
    }
    for stop in 0..DIVERSIONS {
        diversion(values, flight, seen, stops.get(stop).copied(), stop as i64);
    }
}

fn diversion(values: &mut Values<'_>, flight: &Flight, seen: &Seen, stop: Option<&Airport>, nth: i64) {
    let (Some(stop), Some(times)) = (stop, &seen.times) else {
        values.text(TEXT_ABSENT);
        values.int_or_null(None::<i64>);
        values.int_or_null(None::<i64>);
        for _ in 0..5 {
            values.text(TEXT_ABSENT);
        }
        return;
    };
    let ground = 25 + i64::from(flight.number % 60);
    let landed = i64::from(flight.departs)
        + i64::from(times.departure_delay)
        + i64::from(times.taxi_out + times.air / 2) * (nth + 1);
    values.text(stop.code);
    values.int(stop.id);
    values.int(sequence_id(stop, flight.day));
    values.clock(Some(landed));
    values.text_of(ground);
    values.text_of(ground);
    values.clock(Some(landed + ground));
    values.text(&flight.tail);
}

/// Minutes after midnight, of any day, as the hour times 100 and the minute.
fn hhmm(minutes: i64) -> i64 {
    let minutes = minutes.rem_euclid(1440);
    minutes / 60 * 100 + minutes % 60
}

#[cfg(test)]
mod tests {
    use super::super::flight::Generator;
    use super::super::schema::COLUMNS;
    use super::*;

    /// The values of a row; texts have no commas outside of city names.
    fn values(row: &str) -> Vec<String> {
        let (mut out, mut quoted) = (vec![String::new()], false);
        for c in row.trim_matches(['(', ')']).chars() {
            match c {
                '\'' => quoted = !quoted,
                ',' if !quoted => out.push(String::new()),
                c => out.last_mut().unwrap().push(c),
            }
        }
        assert!(!quoted);
        out
    }

    #[test]
    fn every_row_has_every_column_and_texts_fit() {
        let generator = Generator::new(5, 30_000);
        let mut row = String::new();
        let (mut bytes, mut diverted) = (0, 0);
        for i in 0..generator.rows() {
            row.clear();
            write_row(&mut row, i + 1, &generator.flight(i));
            let values = values(&row);
            assert_eq!(values.len(), COLUMNS.len() + 1, "{row}");
            assert_eq!(values[0], (i + 1).to_string());
            for (value, (name, kind)) in values[1..].iter().zip(COLUMNS) {
                fits(value, name, kind, &row);
            }
            bytes += row.len();
            diverted += usize::from(!values[70].is_empty());
        }
        let mean = bytes / generator.rows() as usize;
        assert!((400..600).contains(&mean), "{mean} bytes a row");
        assert!(diverted > 5);
    }

    fn fits(value: &str, name: &str, kind: &str, row: &str) {
        match kind.split_once('(') {
            Some((_, length)) => {
                let length: usize = length.trim_end_matches(')').parse().unwrap();
                assert!(value.len() <= length, "{name}: {value}");
            }
            None if kind == "DATE" => assert_eq!(value.len(), 10, "{row}"),
            None if value == "NULL" => {}
            None => {
                let number: i64 = value.parse().unwrap_or_else(|e| panic!("{name} {value}: {e}"));
                assert!(kind != "TINYINT" || number < 128, "{name}: {number}");
            }
        }
    }

    #[test]
    fn columns_of_a_flight_agree() {
        let at = |name: &str| 1 + COLUMNS.iter().position(|(column, _)| *column == name).unwrap();
        let generator = Generator::new(6, 20_000);
        let mut row = String::new();
        for i in 0..generator.rows() {
            row.clear();
            write_row(&mut row, i + 1, &generator.flight(i));
            let values = values(&row);
            let number = |name: &str| values[at(name)].parse::<i64>().ok();
            assert_eq!(
                number("Cancelled") == Some(1),
                !values[at("CancellationCode")].is_empty()
            );
            let arrived = number("Cancelled") == Some(0) && number("Diverted") == Some(0);
            assert_eq!(number("ArrDelay").is_some(), arrived);
            assert_eq!(
                number("ArrDelayMinutes"),
                number("ArrDelay").map(|delay| delay.max(0))
            );
            let causes = [
                "CarrierDelay",
                "WeatherDelay",
                "NASDelay",
                "SecurityDelay",
                "LateAircraftDelay",
            ];
            if let Some(first) = number(causes[0]) {
                let sum: i64 = first + causes[1..].iter().filter_map(|name| number(name)).sum::<i64>();
                assert_eq!(Some(sum), number("ArrDelay"), "{row}");
            }
        }
    }

    #[test]
    fn clocks_wrap() {
        assert_eq!(hhmm(0), 0);
        assert_eq!(hhmm(545), 905);
        assert_eq!(hhmm(1440 + 61), 101);
        assert_eq!(hhmm(-5), 2355);
    }
}
