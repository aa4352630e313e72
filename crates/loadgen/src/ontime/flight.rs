//! One flight: carrier, route, time, and what happened to it.
//!
//! A flight depends only on the seed, its row and the number of rows, so rows can be generated in any order
//! and by any number of threads. Carriers, airports and flight numbers are as skewed as the real ones. A
//! flight number has the same route and time of day for three years. Delays depend on the carrier, the hour
//! and the month. [`super::row`] writes the flight as a row.

use super::airports::{self, AIRPORTS, Airport};
use super::calendar::{self, Day};
use super::carriers::{CARRIERS, Carrier};
use crate::random::{Random, mix};

/// How many flights the third query finds; fewer than its LIMIT, so that it reads the whole table.
pub const SOUGHT: u64 = 7;
/// What the third query looks for, besides the airports.
pub const SOUGHT_CARRIER: &str = "DL";
pub const SOUGHT_TAIL: &str = "N317NB";
pub const SOUGHT_NUMBER: u32 = 2;
pub const SOUGHT_ORIGIN: &str = "JFK";
pub const SOUGHT_DEST: &str = "FLL";

/// Minutes per 8 miles, and the fixed minutes of every flight.
const MILES_A_MINUTE: u32 = 8;
const CLIMB_MINUTES: u32 = 22;
const TAXI_MINUTES: u32 = 20;

#[derive(Debug)]
pub struct Flight {
    pub day: Day,
    pub carrier: &'static Carrier,
    /// The aircraft's registration; empty before 1995, when it was not reported.
    pub tail: String,
    pub number: u32,
    pub origin: &'static Airport,
    pub dest: &'static Airport,
    pub miles: u32,
    /// Minutes after midnight.
    pub departs: u32,
    /// Minutes from gate to gate, as scheduled.
    pub scheduled: u32,
    pub fate: Fate,
}

#[derive(Debug)]
pub enum Fate {
    /// A for the carrier, B for the weather, C for the air system, D for security.
    Cancelled(&'static str),
    Flown(Times),
    Diverted {
        times: Times,
        /// Where it landed instead, first to last.
        stops: Vec<&'static Airport>,
        reached: bool,
    },
}

/// Minutes.
#[derive(Debug, Clone)]
pub struct Times {
    /// Below zero when it left early.
    pub departure_delay: i32,
    pub taxi_out: u32,
    pub air: u32,
    pub taxi_in: u32,
}

impl Times {
    /// From gate to gate.
    pub fn elapsed(&self) -> u32 {
        self.taxi_out + self.air + self.taxi_in
    }
}

/// The state that rows are generated from.
pub struct Generator {
    seed: u64,
    rows: u64,
    /// The sum of the weights up to each airport.
    airports: Vec<u64>,
}

impl Generator {
    pub fn new(seed: u64, rows: u64) -> Self {
        let mut sum = 0;
        let airports = (0..AIRPORTS.len() as u64)
            .map(|rank| {
                sum += 80_000 / (rank + 8);
                sum
            })
            .collect();
        Self { seed, rows, airports }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The flight of a row; rows are numbered from 0.
    pub fn flight(&self, row: u64) -> Flight {
        let mut random = Random::new(mix(self.seed ^ mix(row)));
        let day = calendar::day_of_row(row, self.rows);
        let sought = self.is_sought(row);
        let carrier = carrier(sought, day.year, &mut random);
        let number = if sought {
            SOUGHT_NUMBER
        } else {
            let numbers = u64::from(carrier.share) * 25 + 1;
            // Lower numbers fly more often.
            1 + random.below(1 + random.clone().below(numbers)) as u32
        };
        let schedule = self.schedule(carrier, number, day.year, sought);
        let tail = match sought {
            true => SOUGHT_TAIL.to_string(),
            false if day.year < 1995 => String::new(),
            false => format!(
                "N{}{}",
                100 + random.below(u64::from(carrier.fleet())),
                carrier.tail
            ),
        };
        let fate = self.fate(day, carrier, &schedule, &mut random);
        Flight {
            day,
            carrier,
            tail,
            number,
            origin: schedule.origin,
            dest: schedule.dest,
            miles: schedule.miles,
            departs: schedule.departs,
            scheduled: schedule.minutes,
            fate,
        }
    }

    /// Whether the third query finds this row. Such rows lie at the middles of equal parts of the table.
    fn is_sought(&self, row: u64) -> bool {
        let doubled = |n: u64| u128::from(n) * 2 * u128::from(SOUGHT);
        // row = (2k + 1) * rows / (2 * SOUGHT), rounded down, for some k.
        let rows = u128::from(self.rows);
        (0..u128::from(SOUGHT)).any(|k| {
            let target = (2 * k + 1) * rows;
            target >= doubled(row) && target < doubled(row + 1)
        })
    }

    fn airport(&self, random: &mut Random) -> &'static Airport {
        let total = self.airports.last().copied().unwrap_or(1);
        let choice = random.below(total);
        let rank = self.airports.partition_point(|sum| *sum <= choice);
        &AIRPORTS[rank.min(AIRPORTS.len() - 1)]
    }

    /// The airport nearest to another one, of several chosen at random.
    fn near(&self, dest: &Airport, random: &mut Random) -> &'static Airport {
        let mut best = self.airport(random);
        for _ in 0..8 {
            let other = self.airport(random);
            if best.code == dest.code
                || (other.code != dest.code && other.miles_to(dest) < best.miles_to(dest))
            {
                best = other;
            }
        }
        best
    }

    /// A flight number's route and times in a year.
    fn schedule(&self, carrier: &Carrier, number: u32, year: u16, sought: bool) -> Schedule {
        let era = u64::from(year / 3);
        let name = u64::from(carrier.airline_id) << 40 | era << 24 | u64::from(number);
        let mut random = Random::new(mix(self.seed ^ mix(name)));
        let (origin, dest) = if sought {
            let found = |code| airports::by_code(code).unwrap_or(&AIRPORTS[0]);
            (found(SOUGHT_ORIGIN), found(SOUGHT_DEST))
        } else {
            self.route(carrier, &mut random)
        };
        let miles = origin.miles_to(dest);
        Schedule {
            origin,
            dest,
            miles,
            // Between 6 in the morning and 11 at night, fewer near both ends, in multiples of 5 minutes.
            departs: (360 + (random.below(510) + random.below(510)) as u32) / 5 * 5,
            minutes: miles / MILES_A_MINUTE + CLIMB_MINUTES + TAXI_MINUTES + random.below(9) as u32,
        }
    }

    /// Two airports. In four cases out of ten, one of them is the carrier's hub.
    fn route(&self, carrier: &Carrier, random: &mut Random) -> (&'static Airport, &'static Airport) {
        let hub = &AIRPORTS[mix(u64::from(carrier.airline_id)) as usize % 20];
        let one = if random.below(10) < 4 {
            hub
        } else {
            self.airport(random)
        };
        let mut other = self.airport(random);
        while other.code == one.code {
            other = self.airport(random);
        }
        if random.below(2) == 0 {
            (one, other)
        } else {
            (other, one)
        }
    }

    fn fate(&self, day: Day, carrier: &Carrier, schedule: &Schedule, random: &mut Random) -> Fate {
        // Winter has snow.
        let cancelled_per_mille = if matches!(day.month, 12 | 1 | 2) { 32 } else { 14 };
        if random.below(1000) < cancelled_per_mille {
            return Fate::Cancelled(match random.below(100) {
                0..40 => "A",
                40..80 => "B",
                80..99 => "C",
                _ => "D",
            });
        }
        let air = schedule.miles / MILES_A_MINUTE + CLIMB_MINUTES;
        let times = Times {
            departure_delay: departure_delay(day, carrier, schedule.departs, random),
            taxi_out: 8 + (random.below(8) + random.below(12)) as u32,
            air: (air + random.below(12) as u32).saturating_sub(6),
            taxi_in: 3 + random.below(7) as u32,
        };
        if random.below(1000) >= 2 {
            return Fate::Flown(times);
        }
        let stops = 1 + usize::from(random.below(8) == 0) + usize::from(random.below(60) == 0);
        Fate::Diverted {
            times: Times {
                air: times.air + 40 + random.below(120) as u32,
                ..times
            },
            stops: (0..stops).map(|_| self.near(schedule.dest, random)).collect(),
            reached: random.below(4) != 0,
        }
    }
}

struct Schedule {
    origin: &'static Airport,
    dest: &'static Airport,
    miles: u32,
    departs: u32,
    minutes: u32,
}

fn carrier(sought: bool, year: u16, random: &mut Random) -> &'static Carrier {
    let reporting = || CARRIERS.iter().filter(|carrier| carrier.reports_in(year));
    if sought && let Some(carrier) = reporting().find(|carrier| carrier.unique == SOUGHT_CARRIER) {
        return carrier;
    }
    let total: u32 = reporting().map(|carrier| carrier.share).sum();
    let mut choice = random.below(u64::from(total)) as u32;
    for carrier in reporting() {
        if choice < carrier.share {
            return carrier;
        }
        choice -= carrier.share;
    }
    &CARRIERS[0]
}

/// Minutes; most flights leave a little early, a few very late.
fn departure_delay(day: Day, carrier: &Carrier, departs: u32, random: &mut Random) -> i32 {
    let busy = matches!(day.month, 6 | 7 | 8 | 12);
    // Delays accumulate over the day.
    let late_percent = carrier.late_percent + departs / 120 + if busy { 4 } else { 0 };
    if random.below(100) >= u64::from(late_percent) {
        // The smaller of two numbers, so that zero is the most frequent.
        return -(random.below(11).min(random.below(11)) as i32);
    }
    let (least, spread) = match random.below(100) {
        0..45 => (1, 15),
        45..80 => (16, 45),
        80..97 => (61, 120),
        _ => (181, 420),
    };
    least + random.below(spread) as i32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_row_is_always_the_same_flight() {
        let (one, same, other) = (
            Generator::new(7, 1000),
            Generator::new(7, 1000),
            Generator::new(8, 1000),
        );
        let text = |generator: &Generator| -> Vec<String> {
            (0..1000)
                .map(|row| format!("{:?}", generator.flight(row)))
                .collect()
        };
        assert_eq!(text(&one), text(&same));
        assert_ne!(text(&one), text(&other));
    }

    #[test]
    fn the_sought_flights_are_there_and_nobody_else_is() {
        for rows in [7, 8, 100, 20_000] {
            let generator = Generator::new(1, rows);
            let found = (0..rows)
                .map(|row| generator.flight(row))
                .filter(|flight| {
                    flight.carrier.unique == SOUGHT_CARRIER
                        && flight.tail == SOUGHT_TAIL
                        && flight.number == SOUGHT_NUMBER
                        && flight.origin.code == SOUGHT_ORIGIN
                        && flight.dest.code == SOUGHT_DEST
                })
                .count();
            assert_eq!(found as u64, SOUGHT, "{rows} rows");
        }
    }

    #[test]
    fn shares_are_near_the_real_ones() {
        let rows = 50_000;
        let generator = Generator::new(3, rows);
        let (mut cancelled, mut diverted, mut late) = (0, 0, 0);
        let mut origins = BTreeMap::new();
        for row in 0..rows {
            let flight = generator.flight(row);
            assert!(flight.carrier.reports_in(flight.day.year));
            assert_ne!(flight.origin.code, flight.dest.code);
            *origins.entry(flight.origin.code).or_insert(0) += 1;
            match flight.fate {
                Fate::Cancelled(_) => cancelled += 1,
                Fate::Diverted { .. } => diverted += 1,
                Fate::Flown(times) => late += u64::from(times.departure_delay > 0),
            }
        }
        assert!((600..1400).contains(&cancelled), "{cancelled}");
        assert!((40..200).contains(&diverted), "{diverted}");
        assert!((10_000..16_000).contains(&late), "{late}");
        assert!(origins.len() > 75, "{}", origins.len());
        assert!(origins["ATL"] > 5 * origins["JNU"], "{origins:?}");
    }
}
