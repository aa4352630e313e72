//! Dates and times as MySQL has them, its zero dates and its 838-hour TIMEs included.

/// A point in time as DATE, DATETIME and TIMESTAMP hold it: fields, not an instant, so that `0000-00-00` and
/// `2024-02-00` exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

impl DateTime {
    /// Order-preserving 64 bits: `((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second`,
    /// shifted left by 24 and joined with the microsecond. The same layout as rows on disk.
    pub fn pack(&self) -> u64 {
        let ymd = (u64::from(self.year) * 13 + u64::from(self.month)) << 5 | u64::from(self.day);
        let hms = u64::from(self.hour) << 12 | u64::from(self.minute) << 6 | u64::from(self.second);
        (ymd << 17 | hms) << 24 | u64::from(self.microsecond)
    }

    pub fn unpack(packed: u64) -> Self {
        let ymdhms = packed >> 24;
        let ymd = ymdhms >> 17;
        let hms = ymdhms & ((1 << 17) - 1);
        let year_month = ymd >> 5;
        Self {
            year: (year_month / 13) as u16,
            month: (year_month % 13) as u8,
            day: (ymd & 31) as u8,
            hour: (hms >> 12) as u8,
            minute: (hms >> 6 & 63) as u8,
            second: (hms & 63) as u8,
            microsecond: (packed & ((1 << 24) - 1)) as u32,
        }
    }
}
