//! Expressions and queries, and what SHOW CREATE VIEW of MySQL 8.0.33 printed for them (column names without
//! their table).

use super::{AsWritten, Style};
use crate::ast::Statement;
use crate::testing::sql_mode;
use crate::{parse_expression, parse_one};

const STYLE: Style<'static> = Style {
    names: &AsWritten,
    charset: "utf8mb4",
    introducers: false,
    week_format: 0,
};

fn printed(text: &str) -> String {
    let expr = parse_expression(text, sql_mode()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    STYLE.expression(&expr)
}

fn printed_query(text: &str) -> String {
    let parsed = parse_one(text, sql_mode()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let Statement::Query(query) = parsed.statement else {
        panic!("{text}")
    };
    STYLE.query(&query)
}

#[rustfmt::skip]
const EXPRESSIONS: &[(&str, &str)] = &[
    ("-1", "-(1)"),
    ("- 1.5", "-(1.5)"),
    ("-a", "-(`a`)"),
    ("+a", "`a`"),
    ("-(-a)", "-(-(`a`))"),
    ("!1", "(0 = 1)"),
    ("not 1", "(0 = 1)"),
    ("not a", "(0 = `a`)"),
    ("not(a xor b)", "((0 = `a`) xor (0 <> `b`))"),
    ("not(a and b)", "((0 = `a`) or (0 = `b`))"),
    ("not (a>1)", "(`a` <= 1)"),
    ("not(a in (1))", "(`a` <> 1)"),
    ("not(c like 'x')", "(not((`c` like 'x')))"),
    ("not(a is true)", "((0 <> `a`) is not true)"),
    ("not (a is not null)", "(`a` is null)"),
    ("a is not unknown", "(`a` is not null)"),
    ("a in (1)", "(`a` = 1)"),
    ("a not in (1)", "(`a` <> 1)"),
    ("isnull(a)", "(`a` is null)"),
    ("ucase(c)", "upper(`c`)"),
    ("lcase(c)", "lower(`c`)"),
    ("octet_length(c)", "length(`c`)"),
    ("character_length(c)", "char_length(`c`)"),
    ("ceil(a)", "ceiling(`a`)"),
    ("week(d)", "week(`d`,0)"),
    ("yearweek(d)", "yearweek(`d`,0)"),
    ("weekofyear(d)", "week(`d`,3)"),
    ("pow(a,2)", "pow(`a`,2)"),
    ("power(a,2)", "pow(`a`,2)"),
    ("day(d)", "dayofmonth(`d`)"),
    ("dayofmonth(d)", "dayofmonth(`d`)"),
    ("schema()", "database()"),
    ("session_user()", "user()"),
    ("system_user()", "user()"),
    ("current_user", "current_user()"),
    ("sha(c)", "sha(`c`)"),
    ("sha1(c)", "sha(`c`)"),
    ("crc32(c)", "crc32(`c`)"),
    ("ascii(c)", "ascii(`c`)"),
    ("ord(c)", "ord(`c`)"),
    ("substring(c,1)", "substr(`c`,1)"),
    ("mid(c,1,2)", "substr(`c`,1,2)"),
    ("left(c,1)", "left(`c`,1)"),
    ("right(c,1)", "right(`c`,1)"),
    ("truncate(a,1)", "truncate(`a`,1)"),
    ("round(a,1)", "round(`a`,1)"),
    ("abs(a)", "abs(`a`)"),
    ("concat_ws(',',c,c)", "concat_ws(',',`c`,`c`)"),
    ("if(a>1,1,0)", "if((`a` > 1),1,0)"),
    ("elt(1,c)", "elt(1,`c`)"),
    ("hex(c)", "hex(`c`)"),
    ("conv(a,1,2)", "conv(`a`,1,2)"),
    ("log(a)", "log(`a`)"),
    ("log2(a)", "log2(`a`)"),
    ("ln(a)", "ln(`a`)"),
    ("log(2,a)", "log(2,`a`)"),
    ("sqrt(a)", "sqrt(`a`)"),
    ("sign(a)", "sign(`a`)"),
    ("rand(3)", "rand(3)"),
    ("pi()", "pi()"),
    ("mod(a,2)", "(`a` % 2)"),
    ("a mod 2", "(`a` % 2)"),
    ("a div 2", "(`a` DIV 2)"),
    ("week(d,1)", "week(`d`,1)"),
    ("date(d)", "cast(`d` as date)"),
    ("time(d)", "cast(`d` as time)"),
    ("timestamp(d)", "cast(`d` as datetime)"),
    ("to_days(d)", "to_days(`d`)"),
    ("from_days(a)", "from_days(`a`)"),
    ("date_format(d,'%Y')", "date_format(`d`,'%Y')"),
    ("time_format(d,'%H')", "time_format(`d`,'%H')"),
    ("str_to_date(c,'%Y')", "str_to_date(`c`,'%Y')"),
    ("unix_timestamp()", "unix_timestamp()"),
    ("unix_timestamp(d)", "unix_timestamp(`d`)"),
    ("from_unixtime(a)", "from_unixtime(`a`)"),
    (
        "from_unixtime(a,'%Y')",
        "date_format(from_unixtime(`a`),'%Y')",
    ),
    ("datediff(d,d)", "(to_days(`d`) - to_days(`d`))"),
    ("bin(a)", "conv(`a`,10,2)"),
    ("oct(a)", "conv(`a`,10,8)"),
    ("atan2(a,b)", "atan(`a`,`b`)"),
    ("makedate(a,1)", "makedate(`a`,1)"),
    ("maketime(1,2,3)", "maketime(1,2,3)"),
    ("period_add(a,1)", "period_add(`a`,1)"),
    ("sec_to_time(a)", "sec_to_time(`a`)"),
    ("convert_tz(d,'a','b')", "convert_tz(`d`,'a','b')"),
    ("timediff(d,d)", "timediff(`d`,`d`)"),
    ("addtime(d,'1')", "addtime(`d`,'1')"),
    ("subtime(d,'1')", "subtime(`d`,'1')"),
    ("last_day(d)", "last_day(`d`)"),
    ("quarter(d)", "quarter(`d`)"),
    ("monthname(d)", "monthname(`d`)"),
    ("dayname(d)", "dayname(`d`)"),
    ("dayofweek(d)", "dayofweek(`d`)"),
    ("dayofyear(d)", "dayofyear(`d`)"),
    ("microsecond(d)", "microsecond(`d`)"),
    ("hour(d)", "hour(`d`)"),
    ("minute(d)", "minute(`d`)"),
    ("second(d)", "second(`d`)"),
    ("month(d)", "month(`d`)"),
    ("year(d)", "year(`d`)"),
    ("timestampadd(minute,1,d)", "(`d` + interval 1 minute)"),
    ("timestampdiff(sql_tsi_day,d,d)", "timestampdiff(DAY,`d`,`d`)"),
    ("utc_date()", "utc_date()"),
    ("utc_time()", "utc_time()"),
    ("utc_timestamp(3)", "utc_timestamp(3)"),
    ("sysdate(2)", "sysdate(2)"),
    ("now(0)", "now()"),
    ("utc_time(0)", "utc_time()"),
    ("curtime()", "curtime()"),
    ("current_time(1)", "curtime(1)"),
    ("now(6)", "now(6)"),
    ("localtimestamp", "now()"),
    ("json_object('a',1)", "json_object('a',1)"),
    ("json_contains(j,'1')", "json_contains(`j`,'1')"),
    ("json_length(j)", "json_length(`j`)"),
    ("json_extract(j,'$.a')", "json_extract(`j`,'$.a')"),
    ("json_unquote(j)", "json_unquote(`j`)"),
    ("json_set(j,'$.a',1)", "json_set(`j`,'$.a',1)"),
    ("json_type(j)", "json_type(`j`)"),
    ("json_overlaps(j,j)", "json_overlaps(`j`,`j`)"),
    ("json_contains_path(j,'one','$.a')", "json_contains_path(`j`,'one','$.a')"),
    ("md5(c)", "md5(`c`)"),
    ("sha2(c,256)", "sha2(`c`,256)"),
    ("aes_encrypt(c,'k')", "aes_encrypt(`c`,'k')"),
    ("to_base64(c)", "to_base64(`c`)"),
    ("uuid()", "uuid()"),
    ("uuid_to_bin(c)", "uuid_to_bin(`c`)"),
    ("bin_to_uuid(c)", "bin_to_uuid(`c`)"),
    ("inet_aton(c)", "inet_aton(`c`)"),
    ("inet_ntoa(a)", "inet_ntoa(`a`)"),
    ("is_uuid(c)", "is_uuid(`c`)"),
    ("coercibility(c)", "coercibility(`c`)"),
    ("charset(c)", "charset(`c`)"),
    ("collation(c)", "collation(`c`)"),
    ("last_insert_id()", "last_insert_id()"),
    ("last_insert_id(1)", "last_insert_id(1)"),
    ("connection_id()", "connection_id()"),
    ("found_rows()", "found_rows()"),
    ("row_count()", "row_count()"),
    ("version()", "version()"),
    ("database()", "database()"),
    ("user()", "user()"),
    ("regexp_like(c,'a')", "regexp_like(`c`,'a')"),
    ("regexp_like(c,'a','i')", "regexp_like(`c`,'a','i')"),
    ("regexp_replace(c,'a','b')", "regexp_replace(`c`,'a','b')"),
    ("regexp_substr(c,'a')", "regexp_substr(`c`,'a')"),
    ("regexp_instr(c,'a')", "regexp_instr(`c`,'a')"),
    ("instr(c,'a')", "locate('a',`c`)"),
    ("locate('a',c,2)", "locate('a',`c`,2)"),
    ("position('a' in c)", "locate('a',`c`)"),
    ("lpad(c,2,'x')", "lpad(`c`,2,'x')"),
    ("space(3)", "space(3)"),
    ("strcmp(c,'a')", "strcmp(`c`,'a')"),
    ("quote(c)", "quote(`c`)"),
    ("soundex(c)", "soundex(`c`)"),
    ("reverse(c)", "reverse(`c`)"),
    ("find_in_set('a',c)", "find_in_set('a',`c`)"),
    ("make_set(1,'a')", "make_set(1,'a')"),
    ("export_set(5,'Y','N')", "export_set(5,'Y','N')"),
    ("field(c,'a')", "field(`c`,'a')"),
    ("interval(a,1,2)", "interval(`a`,1,2)"),
    ("greatest(a,b)", "greatest(`a`,`b`)"),
    ("least(a,b)", "least(`a`,`b`)"),
    ("format(a,2)", "format(`a`,2)"),
    ("format(a,2,'de_DE')", "format(`a`,2,'de_DE')"),
    ("trim(leading 'x' from c)", "trim(leading 'x' from `c`)"),
    ("trim(trailing 'x' from c)", "trim(trailing 'x' from `c`)"),
    ("ltrim(c)", "ltrim(`c`)"),
    ("rtrim(c)", "rtrim(`c`)"),
    ("bit_count(a)", "bit_count(`a`)"),
    ("bit_length(c)", "bit_length(`c`)"),
    ("get_lock('a',1)", "get_lock('a',1)"),
    ("sleep(0)", "sleep(0)"),
    ("benchmark(1,1)", "benchmark(1,1)"),
    ("date'2020-01-01'", "DATE'2020-01-01'"),
    ("time'10:00:00'", "TIME'10:00:00'"),
    ("timestamp'2020-01-01 00:00:00'", "TIMESTAMP'2020-01-01 00:00:00'"),
    ("d + interval 1 day", "(`d` + interval 1 day)"),
    ("interval 1 day + d", "(`d` + interval 1 day)"),
    ("d - interval a+1 day", "(`d` - interval (`a` + 1) day)"),
    ("date_add(d,interval -1 day)", "(`d` + interval -(1) day)"),
    ("cast(a as signed integer)", "cast(`a` as signed)"),
    ("cast(c as nchar(3))", "cast(`c` as char(3) charset utf8mb3)"),
    ("cast(a as datetime)", "cast(`a` as datetime)"),
    ("cast(c as time(2))", "cast(`c` as time(2))"),
    ("cast(a as decimal(5))", "cast(`a` as decimal(5,0))"),
    ("cast(a as char(3) ascii)", "cast(`a` as char(3) charset latin1)"),
    ("binary c", "cast(`c` as char charset binary)"),
    ("case when a then 1 end", "(case when `a` then 1 end)"),
    ("if(a,1,2)", "if(`a`,1,2)"),
    ("a and 1", "((0 <> `a`) and (0 <> 1))"),
    ("a=b=c", "((`a` = `b`) = `c`)"),
    ("a<b<c", "((`a` < `b`) < `c`)"),
    ("(a,b)<(1,2)", "((`a`,`b`) < (1,2))"),
    ("a in (1,2) is true", "((`a` in (1,2)) is true)"),
    ("a between 1 and 2 is true", "((`a` between 1 and 2) is true)"),
    ("a is null is true", "((`a` is null) is true)"),
    ("c like 'a' is true", "((`c` like 'a') is true)"),
    ("1 member of(j)", "1 member of (`j`)"),
    ("not 1 member of(j)", "(not(1 member of (`j`)))"),
    ("match (a, t.b) against ('x')", "(match `a`,`t`.`b` against ('x'))"),
    (
        "match a against ('+x' in boolean mode) > 0",
        "((match `a` against ('+x' in boolean mode)) > 0)",
    ),
    (
        "match (a) against ('x' in natural language mode with query expansion)",
        "(match `a` against ('x' with query expansion))",
    ),
    ("c is null", "(`c` is null)"),
    ("''", "''"),
    ("'é'", "'é'"),
    ("_utf8mb4'é'", "_utf8mb4'é'"),
    ("_binary'abc'", "_binary'abc'"),
    ("b'1'", "0x01"),
    ("b'100000001'", "0x0101"),
    ("true", "true"),
    ("false", "false"),
    ("null", "NULL"),
    ("not null", "(0 = NULL)"),
    ("1=1 and true", "((1 = 1) and true)"),
    ("a or true", "((0 <> `a`) or true)"),
    ("a or null", "((0 <> `a`) or (0 <> NULL))"),
    ("a=all(select 1)", "`a` = all (select 1)"),
    ("a>any(select 1)", "`a` > any (select 1)"),
    ("a<>all(select 1)", "(not(`a` in (select 1)))"),
    ("a<some(select 1)", "`a` < any (select 1)"),
    ("a in (select 1)", "`a` in (select 1)"),
    ("(select 1)", "(select 1)"),
    ("(a,b) in (select 1,2)", "(`a`,`b`) in (select 1,2)"),
    ("not (a>any(select 1))", "`a` <= all (select 1)"),
    ("not (a in (select 1))", "(not(`a` in (select 1)))"),
    ("(exists(select 1))", "exists(select 1)"),
    ("a and exists(select 1)", "((0 <> `a`) and exists(select 1))"),
    ("1 and (select 1)", "((0 <> 1) and (0 <> (select 1)))"),
    ("not (select 1)", "(0 = (select 1))"),
    ("concat(a) and 1", "((0 <> concat(`a`)) and (0 <> 1))"),
    ("isnull(a) and 1", "((`a` is null) and (0 <> 1))"),
    ("json_contains(j,'1') and 1", "(json_contains(`j`,'1') and (0 <> 1))"),
    ("sum(a)>1 and 1", "((sum(`a`) > 1) and (0 <> 1))"),
    ("ifnull(a,b) and 1", "((0 <> ifnull(`a`,`b`)) and (0 <> 1))"),
    ("case when a then 1 end and 1", "((0 <> (case when `a` then 1 end)) and (0 <> 1))"),
    ("(a+1) and 1", "((0 <> (`a` + 1)) and (0 <> 1))"),
    ("not (a+1)", "(0 = (`a` + 1))"),
    ("c regexp 'a' and 1", "(regexp_like(`c`,'a') and (0 <> 1))"),
    ("c not regexp 'a'", "(not(regexp_like(`c`,'a')))"),
    ("find_in_set('a',c) and 1", "((0 <> find_in_set('a',`c`)) and (0 <> 1))"),
    ("is_uuid(c) and 1", "(is_uuid(`c`) and (0 <> 1))"),
    ("json_valid(c) and 1", "(json_valid(`c`) and (0 <> 1))"),
    ("regexp_like(c,'a') and 1", "(regexp_like(`c`,'a') and (0 <> 1))"),
    ("any_value(a) and 1", "((0 <> any_value(`a`)) and (0 <> 1))"),
    ("strcmp(c,c) and 1", "(strcmp(`c`,`c`) and (0 <> 1))"),
    ("get_format(datetime,'usa')", "get_format(DATETIME, 'usa')"),
    ("convert(c,signed)", "cast(`c` as signed)"),
    ("convert(c using binary)", "convert(`c` using binary)"),
    ("json_value(j,'$.a')", "json_value(`j`, '$.a' returning char(512))"),
    ("json_value(j,'$.a' returning char(5))", "json_value(`j`, '$.a' returning char(5))"),
    ("count(distinct a)", "count(distinct `a`)"),
    ("bit_xor(a)", "bit_xor(`a`)"),
    ("var_samp(a)", "var_samp(`a`)"),
    ("stddev_samp(a)", "stddev_samp(`a`)"),
    ("json_objectagg(c,a)", "json_objectagg(`c`,`a`)"),
    ("group_concat(a order by b)", "group_concat(`a` order by `b` ASC separator ',')"),
];

#[test]
fn expressions_as_mysql_prints_them() {
    let wrong: Vec<_> = EXPRESSIONS
        .iter()
        .map(|(text, expected)| (*text, printed(text), *expected))
        .filter(|(_, printed, expected)| printed.trim_end() != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Where MySQL computes more than it prints, or prints what means something else.
#[test]
fn expressions_that_differ_from_mysql() {
    for (text, expected) in [
        ("char(65 using latin1)", "char(65 using latin1)"),
        ("x''", "x''"),
        (
            "json_value(j,'$.a' returning signed null on empty null on error)",
            "json_value(`j`, '$.a' returning signed)",
        ),
        ("round(a)", "round(`a`)"),
        ("(a,b)=(1,2)", "((`a`,`b`) = (1,2))"),
        ("(a,b) in ((1,2))", "((`a`,`b`) in ((1,2)))"),
        ("trim('x' from c)", "trim(both 'x' from `c`)"),
        ("1 + (a in (select 1))", "(1 + (`a` in (select 1)))"),
        ("b = (a > all (select 1))", "(`b` = (`a` > all (select 1)))"),
        ("2 * (1 member of (j))", "(2 * (1 member of (`j`)))"),
    ] {
        assert_eq!(printed(text), expected, "{text}");
    }
}

#[test]
fn a_printed_expression_is_parsed_to_the_same() {
    for (_, text) in EXPRESSIONS {
        let again = printed(text);
        assert_eq!(printed(&again), again, "{text}");
    }
}

#[test]
fn literals_with_the_connections_character_set() {
    let style = Style {
        introducers: true,
        ..STYLE
    };
    let expr = parse_expression("concat(c, 'x', _latin1'y')", sql_mode()).unwrap();
    assert_eq!(style.expression(&expr), "concat(`c`,_utf8mb4'x',_latin1'y')");
}

const QUERIES: &[(&str, &str)] = &[
    (
        "select distinct x.a as `my a` from t x join (t as y, t yy) on x.a=y.a left join t z on z.a=1 cross join t c",
        "select distinct `x`.`a` AS `my a` from (((`t` `x` join (`t` `y` join `t` `yy`) on((`x`.`a` = `y`.`a`))) left \
         join `t` `z` on((`z`.`a` = 1))) join `t` `c`)",
    ),
    (
        "select a from t right join r on 1 where a group by a, b with rollup having count(*)>1 order by 1, b desc limit 3,4",
        "select `a` AS `a` from (`r` left join `t` on((0 <> 1))) where (0 <> `a`) group by `a`,`b` with rollup having \
         (count(0) > 1) order by 1,`b` desc limit 3,4",
    ),
    (
        "with recursive cte(n) as (select 1 union all select n+1 from cte where n<5), c2 as (select * from cte) \
         select * from c2 join cte",
        "with recursive `cte` (`n`) as (select 1 AS `1` union all select (`n` + 1) AS `n+1` from `cte` where (`n` < 5)), \
         `c2` as (select * from `cte`) select * from (`c2` join `cte`)",
    ),
    (
        "(select a from t limit 1) union all select b from u union select 3 order by 1 limit 5",
        "(select `a` AS `a` from `t` limit 1) union all select `b` AS `b` from `u` union select 3 AS `3` order by 1 limit 5",
    ),
    (
        "select row_number() over (partition by b order by a desc rows between unbounded preceding and 1 following) r, \
         sum(a) over w s from t window w as (partition by b)",
        "select row_number() OVER (PARTITION BY `b` ORDER BY `a` desc ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)  \
         AS `r`,sum(`a`) OVER `w` AS `s` from `t` window `w` AS (PARTITION BY `b` ) ",
    ),
    (
        "select a from t use index (i, j), lateral (select t.a+1 as q) l natural join r for update of t nowait",
        "select `a` AS `a` from (`t` USE INDEX (`i`) USE INDEX (`j`) join (lateral (select (`t`.`a` + 1) AS `q`) `l` natural join \
         `r`)) for update of `t` nowait",
    ),
    ("values row(1,2),row(3,4)", "values row(1,2),row(3,4)"),
    (
        "(select 1 where a) union ((select 2)) union (select 3 union select 4) union (select a from t force index (primary) limit 1)",
        "select 1 AS `1` from DUAL  where (0 <> `a`) union select 2 AS `2` union (select 3 AS `3` union select 4 AS `4`) \
         union (select `a` AS `a` from `t` FORCE INDEX (PRIMARY) limit 1)",
    ),
    ("select `a``b` from d.t", "select `a``b` AS `a``b` from `d`.`t`"),
];

#[test]
fn queries() {
    for (text, expected) in QUERIES {
        let printed = printed_query(text);
        assert_eq!(printed, *expected, "{text}");
        assert_eq!(printed_query(&printed), printed, "{text}");
    }
}
