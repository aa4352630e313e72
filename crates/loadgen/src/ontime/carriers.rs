//! The reporting carriers of 1988 to 2015, with the years they reported, their share and their punctuality.

/// A reporting carrier.
#[derive(Debug)]
pub struct Carrier {
    /// Unique over all years: codes that were reused have a number.
    pub unique: &'static str,
    /// Two letters.
    pub code: &'static str,
    /// Its number at the Department of Transportation.
    pub airline_id: u32,
    pub years: (u16, u16),
    /// Its share of the flights, relative to the other carriers that report in the same year. Half of the
    /// fleet's size is this share times 10.
    pub share: u32,
    /// Of 100 flights, how many leave late.
    pub late_percent: u32,
    /// The last letters of its aircraft's registrations.
    pub tail: &'static str,
}

impl Carrier {
    pub fn reports_in(&self, year: u16) -> bool {
        (self.years.0..=self.years.1).contains(&year)
    }

    /// How many aircraft it has.
    pub fn fleet(&self) -> u32 {
        self.share * 5
    }
}

const fn carrier(
    unique: &'static str,
    airline_id: u32,
    years: (u16, u16),
    share: u32,
    late_percent: u32,
    tail: &'static str,
) -> Carrier {
    Carrier {
        unique,
        code: unique.split_at(2).0,
        airline_id,
        years,
        share,
        late_percent,
        tail,
    }
}

pub static CARRIERS: [Carrier; 29] = [
    carrier("WN", 19393, (1988, 2015), 150, 20, "SW"),
    carrier("DL", 19790, (1988, 2015), 125, 17, "DL"),
    carrier("AA", 19805, (1988, 2015), 110, 20, "AA"),
    carrier("US", 20355, (1988, 2015), 95, 18, "US"),
    carrier("UA", 19977, (1988, 2015), 92, 22, "UA"),
    carrier("NW", 19386, (1988, 2009), 75, 17, "NW"),
    carrier("CO", 19704, (1988, 2011), 60, 18, "CO"),
    carrier("OO", 20304, (2003, 2015), 60, 18, "SK"),
    carrier("MQ", 20398, (2001, 2015), 58, 22, "AE"),
    carrier("EV", 20366, (2003, 2015), 50, 24, "EV"),
    carrier("XE", 20374, (2003, 2011), 40, 21, "XE"),
    carrier("TW", 20211, (1988, 2001), 40, 19, "TW"),
    carrier("HP", 19991, (1988, 2005), 36, 20, "AW"),
    carrier("YV", 20378, (2006, 2015), 28, 21, "LR"),
    carrier("AS", 19930, (1988, 2015), 28, 18, "AS"),
    carrier("OH", 20417, (2003, 2010), 28, 22, "CA"),
    carrier("FL", 20437, (2003, 2014), 26, 21, "AT"),
    carrier("9E", 20363, (2007, 2013), 26, 18, "XJ"),
    carrier("B6", 20409, (2003, 2015), 24, 23, "JB"),
    carrier("EA", 19391, (1988, 1991), 24, 21, "EA"),
    carrier("PI", 19707, (1988, 1989), 20, 22, "PI"),
    carrier("PA (1)", 20384, (1988, 1991), 14, 21, "PA"),
    carrier("F9", 20436, (2005, 2015), 13, 19, "FR"),
    carrier("DH", 20319, (2003, 2005), 12, 20, "DH"),
    carrier("NK", 20416, (2015, 2015), 11, 27, "NK"),
    carrier("HA", 19690, (2003, 2015), 10, 8, "HA"),
    carrier("VX", 21171, (2012, 2015), 9, 18, "VA"),
    carrier("TZ", 20312, (2003, 2006), 7, 20, "TZ"),
    carrier("AQ", 19678, (2001, 2008), 5, 9, "AQ"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_two_letters_and_unique_ones_are_unique() {
        for (i, carrier) in CARRIERS.iter().enumerate() {
            assert_eq!(carrier.code.len(), 2);
            assert!(carrier.fleet() > 0);
            assert!(
                CARRIERS[i + 1..]
                    .iter()
                    .all(|other| other.unique != carrier.unique && other.airline_id != carrier.airline_id)
            );
        }
    }

    #[test]
    fn several_carriers_report_in_every_year() {
        for year in 1988..=2015 {
            assert!(CARRIERS.iter().filter(|carrier| carrier.reports_in(year)).count() >= 8);
        }
    }
}
