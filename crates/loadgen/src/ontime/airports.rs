//! The airports of the flights: real ones, the busiest first, with the states they lie in.
//!
//! City markets and coordinates are close to the real ones, not copies of them. Distances are computed from
//! coordinates in integers, so that every machine generates the same miles.

/// An airport as the data set describes it, once for the origin and once for the destination.
#[derive(Debug)]
pub struct Airport {
    pub code: &'static str,
    /// Without the state.
    pub city: &'static str,
    /// Its number at the Department of Transportation.
    pub id: u32,
    pub state: &'static str,
    /// Hundredths of a degree north.
    latitude: i32,
    /// Hundredths of a degree east; all of them negative.
    longitude: i32,
}

#[derive(Debug)]
pub struct State {
    pub code: &'static str,
    pub fips: &'static str,
    pub name: &'static str,
    /// World area code.
    pub wac: u32,
}

impl Airport {
    pub fn state(&self) -> &'static State {
        // A test looks up every airport's state, so the fallback is never used.
        STATES
            .iter()
            .find(|state| state.code == self.state)
            .unwrap_or(&STATES[0])
    }

    /// Statute miles on a flat map that is correct at 38 degrees north; at least 31.
    pub fn miles_to(&self, other: &Self) -> u32 {
        // 69.0 and 54.4 miles a degree, here per hundredth and times 1000.
        let north = i64::from(self.latitude - other.latitude) * 690;
        let east = i64::from(self.longitude - other.longitude) * 544;
        let squared = (north * north + east * east) as u64;
        ((squared.isqrt() / 1000) as u32).max(31)
    }
}

/// The airport with a code that is known to be listed.
pub fn by_code(code: &str) -> Option<&'static Airport> {
    AIRPORTS.iter().find(|airport| airport.code == code)
}

const fn at(
    code: &'static str,
    id: u32,
    city: &'static str,
    state: &'static str,
    latitude: i32,
    longitude: i32,
) -> Airport {
    Airport {
        code,
        city,
        id,
        state,
        latitude,
        longitude,
    }
}

/// In the order of their traffic, which [`super::flight`] turns into weights.
pub static AIRPORTS: [Airport; 84] = [
    at("ATL", 10397, "Atlanta", "GA", 3364, -8443),
    at("ORD", 13930, "Chicago", "IL", 4198, -8790),
    at("DFW", 11298, "Dallas/Fort Worth", "TX", 3290, -9704),
    at("LAX", 12892, "Los Angeles", "CA", 3394, -11841),
    at("PHX", 14107, "Phoenix", "AZ", 3343, -11201),
    at("DEN", 11292, "Denver", "CO", 3986, -10467),
    at("DTW", 11433, "Detroit", "MI", 4221, -8335),
    at("IAH", 12266, "Houston", "TX", 2998, -9534),
    at("MSP", 13487, "Minneapolis", "MN", 4488, -9322),
    at("SFO", 14771, "San Francisco", "CA", 3762, -12238),
    at("STL", 15016, "St. Louis", "MO", 3875, -9037),
    at("EWR", 11618, "Newark", "NJ", 4069, -7417),
    at("LAS", 12889, "Las Vegas", "NV", 3608, -11515),
    at("CLT", 11057, "Charlotte", "NC", 3521, -8094),
    at("LGA", 12953, "New York", "NY", 4078, -7387),
    at("BOS", 10721, "Boston", "MA", 4236, -7101),
    at("PHL", 14100, "Philadelphia", "PA", 3987, -7524),
    at("PIT", 14122, "Pittsburgh", "PA", 4049, -8023),
    at("SLC", 14869, "Salt Lake City", "UT", 4079, -11198),
    at("SEA", 14747, "Seattle", "WA", 4745, -12231),
    at("MCO", 13204, "Orlando", "FL", 2843, -8132),
    at("BWI", 10821, "Baltimore", "MD", 3918, -7667),
    at("DCA", 11278, "Washington", "VA", 3885, -7704),
    at("CVG", 11193, "Cincinnati", "KY", 3905, -8466),
    at("MIA", 13303, "Miami", "FL", 2579, -8029),
    at("TPA", 15304, "Tampa", "FL", 2798, -8253),
    at("SAN", 14679, "San Diego", "CA", 3273, -11719),
    at("CLE", 11042, "Cleveland", "OH", 4141, -8185),
    at("MDW", 13232, "Chicago", "IL", 4179, -8775),
    at("JFK", 12478, "New York", "NY", 4064, -7378),
    at("FLL", 11697, "Fort Lauderdale", "FL", 2607, -8015),
    at("MEM", 13244, "Memphis", "TN", 3504, -8998),
    at("BNA", 10693, "Nashville", "TN", 3612, -8668),
    at("PDX", 14057, "Portland", "OR", 4559, -12260),
    at("MCI", 13198, "Kansas City", "MO", 3930, -9471),
    at("HOU", 12191, "Houston", "TX", 2965, -9528),
    at("OAK", 13796, "Oakland", "CA", 3772, -12222),
    at("SJC", 14831, "San Jose", "CA", 3736, -12193),
    at("DAL", 11259, "Dallas", "TX", 3285, -9685),
    at("MSY", 13495, "New Orleans", "LA", 2999, -9026),
    at("SMF", 14893, "Sacramento", "CA", 3870, -12159),
    at("IND", 12339, "Indianapolis", "IN", 3972, -8629),
    at("RDU", 14492, "Raleigh/Durham", "NC", 3588, -7879),
    at("SNA", 14908, "Santa Ana", "CA", 3368, -11787),
    at("AUS", 10423, "Austin", "TX", 3019, -9767),
    at("CMH", 11066, "Columbus", "OH", 4000, -8289),
    at("SAT", 14683, "San Antonio", "TX", 2953, -9847),
    at("ONT", 13891, "Ontario", "CA", 3406, -11760),
    at("MKE", 13342, "Milwaukee", "WI", 4295, -8790),
    at("ABQ", 10140, "Albuquerque", "NM", 3504, -10661),
    at("BDL", 10529, "Hartford", "CT", 4194, -7268),
    at("HNL", 12173, "Honolulu", "HI", 2132, -15792),
    at("BUF", 10792, "Buffalo", "NY", 4294, -7873),
    at("BUR", 10800, "Burbank", "CA", 3420, -11836),
    at("OMA", 13871, "Omaha", "NE", 4130, -9589),
    at("JAX", 12451, "Jacksonville", "FL", 3049, -8169),
    at("RNO", 14570, "Reno", "NV", 3950, -11977),
    at("TUS", 15376, "Tucson", "AZ", 3212, -11094),
    at("PBI", 14027, "West Palm Beach/Palm Beach", "FL", 2668, -8010),
    at("RIC", 14524, "Richmond", "VA", 3751, -7732),
    at("OKC", 13851, "Oklahoma City", "OK", 3539, -9760),
    at("ELP", 11540, "El Paso", "TX", 3181, -10638),
    at("SDF", 14730, "Louisville", "KY", 3817, -8574),
    at("BHM", 10599, "Birmingham", "AL", 3356, -8675),
    at("TUL", 15370, "Tulsa", "OK", 3620, -9589),
    at("RSW", 14635, "Fort Myers", "FL", 2654, -8176),
    at("ANC", 10299, "Anchorage", "AK", 6117, -14999),
    at("OGG", 13830, "Kahului", "HI", 2090, -15643),
    at("SJU", 14843, "San Juan", "PR", 1844, -6600),
    at("GEG", 11884, "Spokane", "WA", 4762, -11753),
    at("BOI", 10713, "Boise", "ID", 4356, -11622),
    at("PVD", 14307, "Providence", "RI", 4172, -7143),
    at("ALB", 10257, "Albany", "NY", 4275, -7380),
    at("ORF", 13931, "Norfolk", "VA", 3689, -7620),
    at("LIT", 12992, "Little Rock", "AR", 3473, -9222),
    at("DSM", 11423, "Des Moines", "IA", 4153, -9366),
    at("CHS", 10994, "Charleston", "SC", 3290, -8004),
    at("ICT", 12264, "Wichita", "KS", 3765, -9743),
    at("COS", 11109, "Colorado Springs", "CO", 3881, -10470),
    at("LIH", 12982, "Lihue", "HI", 2198, -15934),
    at("FAI", 11630, "Fairbanks", "AK", 6482, -14786),
    at("STT", 15024, "Charlotte Amalie", "VI", 1834, -6497),
    at("BTV", 10785, "Burlington", "VT", 4447, -7315),
    at("JNU", 12523, "Juneau", "AK", 5835, -13458),
];

const fn state(code: &'static str, fips: &'static str, name: &'static str, wac: u32) -> State {
    State {
        code,
        fips,
        name,
        wac,
    }
}

static STATES: [State; 43] = [
    state("AK", "02", "Alaska", 1),
    state("AL", "01", "Alabama", 51),
    state("AR", "05", "Arkansas", 71),
    state("AZ", "04", "Arizona", 81),
    state("CA", "06", "California", 91),
    state("CO", "08", "Colorado", 82),
    state("CT", "09", "Connecticut", 11),
    state("FL", "12", "Florida", 33),
    state("GA", "13", "Georgia", 34),
    state("HI", "15", "Hawaii", 2),
    state("IA", "19", "Iowa", 61),
    state("ID", "16", "Idaho", 83),
    state("IL", "17", "Illinois", 41),
    state("IN", "18", "Indiana", 42),
    state("KS", "20", "Kansas", 62),
    state("KY", "21", "Kentucky", 52),
    state("LA", "22", "Louisiana", 72),
    state("MA", "25", "Massachusetts", 13),
    state("MD", "24", "Maryland", 35),
    state("MI", "26", "Michigan", 43),
    state("MN", "27", "Minnesota", 63),
    state("MO", "29", "Missouri", 64),
    state("NC", "37", "North Carolina", 36),
    state("NE", "31", "Nebraska", 65),
    state("NJ", "34", "New Jersey", 21),
    state("NM", "35", "New Mexico", 86),
    state("NV", "32", "Nevada", 85),
    state("NY", "36", "New York", 22),
    state("OH", "39", "Ohio", 44),
    state("OK", "40", "Oklahoma", 73),
    state("OR", "41", "Oregon", 92),
    state("PA", "42", "Pennsylvania", 23),
    state("PR", "72", "Puerto Rico", 3),
    state("RI", "44", "Rhode Island", 15),
    state("SC", "45", "South Carolina", 37),
    state("TN", "47", "Tennessee", 54),
    state("TX", "48", "Texas", 74),
    state("UT", "49", "Utah", 87),
    state("VA", "51", "Virginia", 38),
    state("VI", "78", "U.S. Virgin Islands", 4),
    state("VT", "50", "Vermont", 16),
    state("WA", "53", "Washington", 93),
    state("WI", "55", "Wisconsin", 45),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_airport_lies_in_a_listed_state() {
        let mut missing: Vec<_> = AIRPORTS
            .iter()
            .filter(|airport| airport.state().code != airport.state)
            .map(|airport| (airport.code, airport.state))
            .collect();
        missing.dedup();
        assert_eq!(missing, []);
    }

    #[test]
    fn distances_are_near_the_real_ones() {
        let (jfk, fll) = (by_code("JFK").unwrap(), by_code("FLL").unwrap());
        assert!(
            (1000..1140).contains(&jfk.miles_to(fll)),
            "{} instead of 1069",
            jfk.miles_to(fll)
        );
        assert_eq!(jfk.miles_to(fll), fll.miles_to(jfk));
        assert_eq!(jfk.miles_to(jfk), 31);
    }
}
