use super::*;

fn read(text: &[u8]) -> (Vec<(u64, u64, u64, Action)>, Skipped) {
    let mut log = Log::new(text);
    let mut found = Vec::new();
    for entry in &mut log {
        let entry = entry.unwrap();
        found.push((entry.at_us, entry.connection, entry.line, entry.action));
    }
    let skipped = log.skipped();
    (found, skipped)
}

fn said(sql: &str) -> Action {
    Action::Statement(sql.to_owned())
}

#[test]
fn mysqls_general_log() {
    let log = b"/usr/sbin/mysqld, Version: 8.0.33 (MySQL Community Server - GPL). started with:\n\
        Tcp port: 3391  Unix socket: /tmp/s.sock\n\
        Time                 Id Command    Argument\n\
        1970-01-02T00:00:00.500000Z\t    8 Connect\troot@localhost on shop using Socket\n\
        1970-01-02T00:00:01.000000Z\t    8 Query\tSELECT 1,\n  'x'\n\
        1970-01-02T00:00:01.250000Z\t   10 Init DB\tother\n\
        1970-01-02T00:00:01.250000Z\t    8 Prepare\tSELECT ?\n\
        1970-01-02T00:00:01.250000Z\t    8 Execute\tSELECT 5\n\
        1970-01-02T00:00:02.000000Z\t    8 Quit\t\n";
    let day = 86_400_000_000;
    let (found, skipped) = read(log);
    assert_eq!(
        found,
        [
            (day + 500_000, 8, 4, Action::Connect(Some("shop".to_owned()))),
            (day + 1_000_000, 8, 5, said("SELECT 1,\n  'x'")),
            (day + 1_250_000, 10, 7, Action::UseDatabase("other".to_owned())),
            (day + 1_250_000, 8, 9, said("SELECT 5")),
            (day + 2_000_000, 8, 10, Action::Quit),
        ]
    );
    assert_eq!(skipped, Skipped::default());
}

#[test]
fn a_statement_that_is_cut_off_is_left_out() {
    let log = b"1970-01-02T00:00:01.000000Z\t    8 Query\tSELECT 1\n\
        1970-01-02T00:00:02.000000Z\t    8 Query\tDELETE FROM t\n  WHERE id = 1";
    for cut in [1, 5, 15] {
        let (found, skipped) = read(&log[..log.len() - cut]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(skipped.is_cut_off);
    }
    let (found, skipped) = read(&[&log[..], b"\n"].concat());
    assert_eq!((found.len(), skipped), (2, Skipped::default()));
}

#[test]
fn mariadbs_general_log_leaves_times_out() {
    let log = b"Time\t\t    Id Command\tArgument\n\
        700102  0:00:03\t     4 Connect\troot@localhost on  using Socket\n\
        \t\t     4 Query\tSHOW DATABASES\n";
    let (found, _) = read(log);
    let at = found.first().unwrap().0;
    assert_eq!(
        found,
        [
            (at, 4, 2, Action::Connect(None)),
            (at, 4, 3, said("SHOW DATABASES"))
        ]
    );
}

#[test]
fn a_slow_log() {
    let log = b"# Time: 1970-01-02T00:00:00.000001Z\n\
        # User@Host: root[root] @ localhost []  Id:    12\n\
        # Query_time: 0.000213  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
        use shop;\n\
        SET timestamp=86400;\n\
        SELECT a\n# not a head\nFROM t;\n\
        # Time: 1970-01-02T00:00:05.000000Z\n\
        # User@Host: root[root] @ localhost []  Id:    13\n\
        SET timestamp=86405;\n\
        # administrator command: Quit;\n";
    let (found, _) = read(log);
    let day = 86_400_000_000;
    assert_eq!(
        found,
        [
            (day + 1, 12, 4, Action::UseDatabase("shop".to_owned())),
            (day + 1, 12, 6, said("SELECT a\n# not a head\nFROM t")),
        ]
    );
}

#[test]
fn junk_is_counted_and_skipped() {
    let log = b"\xff\xfe junk\n\
        1970-01-02T00:00:01.000000Z\t    8 Query\tSELECT 1\n\
        1970-01-02T00:00:01.000000Z\t    8 Query\tSELECT '\xff'\n\
        1970-01-02T00:00:01.000000Z\t    8 Query\tSELECT '\0'\n\
        1970-01-02T00:00:01.000000Z\t    8 Query\tSELECT 2\n";
    let (found, skipped) = read(log);
    assert_eq!(found.len(), 2);
    assert_eq!(
        skipped,
        Skipped {
            lines: 1,
            unreadable: 2,
            is_cut_off: false,
        }
    );
}

#[test]
fn broken_bytes_are_no_panic() {
    let log = b"# Time: 2026-\n# User@Host: x Id: 99999999999999999999\nSET timestamp=;\nx;\n\
        1970-01-02T00:00:01.000000Z\t    8 Query\n700102  0:00:0\t4 Query\tx\n";
    for end in 0..log.len() {
        let _ = read(&log[..end]);
        let _ = read(&log[end..]);
    }
}
