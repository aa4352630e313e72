//! The rows of the three tables that TPC-C does not have.

use crate::client::{Connection, Param};
use crate::error::Result;
use crate::load::MultiInsert;
use crate::random::{Random, mix};
use crate::tpcc::choices::{digits, text};

/// Suppliers. A stock's supplier is `MOD(s_w_id * s_i_id, 10000)`.
const SUPPLIERS: u64 = 10_000;
/// One supplier in so many has complaints.
const COMPLAINTS: u64 = 100;

const REGIONS: [&str; 5] = ["Africa", "America", "Asia", "Europe", "Middle East"];

/// Nations and their regions. Their keys are the codes of the digits and letters: a customer's nation is the
/// first character of his state.
const NATIONS: [(&str, usize); 62] = [
    ("Algeria", 0),
    ("Argentina", 1),
    ("Brazil", 1),
    ("Canada", 1),
    ("Egypt", 4),
    ("Ethiopia", 0),
    ("France", 3),
    ("Germany", 3),
    ("India", 2),
    ("Indonesia", 2),
    ("Iran", 4),
    ("Iraq", 4),
    ("Japan", 2),
    ("Jordan", 4),
    ("Kenya", 0),
    ("Morocco", 0),
    ("Mozambique", 0),
    ("Peru", 1),
    ("China", 2),
    ("Romania", 3),
    ("Saudi Arabia", 4),
    ("Vietnam", 2),
    ("Russia", 3),
    ("United Kingdom", 3),
    ("United States", 1),
    ("Australia", 2),
    ("Austria", 3),
    ("Belgium", 3),
    ("Bolivia", 1),
    ("Bulgaria", 3),
    ("Cambodia", 2),
    ("Chile", 1),
    ("Colombia", 1),
    ("Croatia", 3),
    ("Cuba", 1),
    ("Denmark", 3),
    ("Ecuador", 1),
    ("Estonia", 3),
    ("Finland", 3),
    ("Ghana", 0),
    ("Greece", 3),
    ("Hungary", 3),
    ("Iceland", 3),
    ("Ireland", 3),
    ("Israel", 4),
    ("Italy", 3),
    ("Laos", 2),
    ("Latvia", 3),
    ("Libya", 0),
    ("Lithuania", 3),
    ("Malaysia", 2),
    ("Mexico", 1),
    ("Nepal", 2),
    ("Netherlands", 3),
    ("New Zealand", 2),
    ("Niger", 0),
    ("Norway", 3),
    ("Pakistan", 2),
    ("Panama", 1),
    ("Poland", 3),
    ("Portugal", 3),
    ("Spain", 3),
];

/// The key of the nation at a position.
fn nation_key(position: u64) -> i64 {
    let characters = (b'0'..=b'9').chain(b'A'..=b'Z').chain(b'a'..=b'z');
    characters
        .map(i64::from)
        .nth(position as usize)
        .unwrap_or_default()
}

pub fn load(connection: &mut Connection, seed: u64) -> Result<()> {
    let random = &mut Random::new(mix(seed ^ mix(SUPPLIERS)));
    let mut regions = MultiInsert::new("INSERT INTO region VALUES ");
    for (key, name) in (0..).zip(REGIONS) {
        let comment = text(random, 30, 150);
        regions.row(
            connection,
            &[Param::Int(key), Param::Text(name), (&comment).into()],
        )?;
    }
    regions.flush(connection)?;
    let mut nations = MultiInsert::new("INSERT INTO nation VALUES ");
    for (position, (name, region)) in (0..).zip(NATIONS) {
        let comment = text(random, 30, 150);
        let key = Param::Int(nation_key(position));
        let region = Param::Int(region as i64);
        nations.row(connection, &[key, Param::Text(name), region, (&comment).into()])?;
    }
    nations.flush(connection)?;
    suppliers(connection, random)
}

fn suppliers(connection: &mut Connection, random: &mut Random) -> Result<()> {
    let mut insert = MultiInsert::new("INSERT INTO supplier VALUES ");
    for key in 0..SUPPLIERS {
        let name = format!("Supplier#{key:09}");
        let address = text(random, 10, 40);
        let nation = nation_key(random.below(NATIONS.len() as u64));
        let phone = digits(random, 15);
        let balance = format!("{}.{:02}", random.below(10_000), random.below(100));
        let mut comment = text(random, 25, 90);
        if random.below(COMPLAINTS) == 0 {
            comment.replace_range(10..13, "bad");
        }
        let values = [
            Param::Int(key as i64),
            (&name).into(),
            (&address).into(),
            Param::Int(nation),
            (&phone).into(),
            (&balance).into(),
            (&comment).into(),
        ];
        insert.row(connection, &values)?;
    }
    insert.flush(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nations_have_the_codes_of_all_digits_and_letters() {
        let keys: Vec<i64> = (0..NATIONS.len() as u64).map(nation_key).collect();
        assert_eq!((keys[0], keys[10], keys[61]), (48, 65, 122));
    }
}
