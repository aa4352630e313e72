// Checks of a MySQL server through go-sql-driver/mysql. What is checked is listed in tests/clients/README.md.
package main

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const database = "client_go"

func main() {
	checks := []struct {
		name string
		run  func() error
	}{
		{"set up", setUp},
		{"connect over TLS", connectTLS},
		{"connect over the socket", connectSocket},
		{"caching_sha2_password over TLS", func() error { return login("go_tls", "sesame", "tls=skip-verify") }},
		{"caching_sha2_password by RSA", func() error { return login("go_rsa", "sesame", "") }},
		{"caching_sha2_password, the fast way", func() error { return login("go_rsa", "sesame", "") }},
		{"mysql_native_password", func() error { return login("go_native", "sesame", "") }},
		{"wrong password", wrongPassword},
		{"unknown database", unknownDatabase},
		{"text statements", func() error { return statements("interpolateParams=true") }},
		{"prepared statements", func() error { return statements("") }},
		{"types, text protocol", func() error { return types("interpolateParams=true") }},
		{"types, binary protocol", func() error { return types("") }},
		{"time values", timeValues},
		{"column types", columnTypes},
		{"transactions", transactions},
		{"errors", errorNumbers},
		{"several statements", severalStatements},
		{"big packets", func() error { return bigPackets("") }},
		{"compression", func() error { return bigPackets("compress=true") }},
		{"kill", kill},
		{"timeouts", timeouts},
	}
	failed := false
	for _, check := range checks {
		if err := check.run(); err != nil {
			failed = true
			fmt.Printf("FAIL %s: %v\n", check.name, err)
		} else {
			fmt.Printf("ok %s\n", check.name)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func dsn(user, password, db, options string) string {
	address := os.Getenv("STEMDB_HOST") + ":" + os.Getenv("STEMDB_PORT")
	// A time-out on everything: a server that does not answer must not hang the tests.
	return fmt.Sprintf("%s:%s@tcp(%s)/%s?timeout=10s&readTimeout=60s&writeTimeout=60s&maxAllowedPacket=0&%s",
		user, password, address, db, options)
}

func open(options string) (*sql.DB, error) {
	return sql.Open("mysql", dsn("root", "", database, options))
}

func setUp() error {
	db, err := sql.Open("mysql", dsn("root", "", "", ""))
	if err != nil {
		return err
	}
	defer db.Close()
	statements := []string{
		"DROP DATABASE IF EXISTS client_go",
		"CREATE DATABASE client_go",
	}
	for user, plugin := range map[string]string{
		"go_tls": "caching_sha2_password", "go_rsa": "caching_sha2_password", "go_native": "mysql_native_password",
	} {
		statements = append(statements,
			fmt.Sprintf("DROP USER IF EXISTS '%s'@'%%'", user),
			fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED WITH %s BY 'sesame'", user, plugin),
			fmt.Sprintf("GRANT ALL ON client_go.* TO '%s'@'%%'", user))
	}
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func connectTLS() error {
	mysql.RegisterTLSConfig("modern", &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	db, err := open("tls=modern")
	if err != nil {
		return err
	}
	defer db.Close()
	var name, cipher string
	if err := db.QueryRow("SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher); err != nil {
		return err
	}
	if cipher == "" {
		return errors.New("Ssl_cipher is empty on a TLS connection")
	}
	return nil
}

func connectSocket() error {
	db, err := sql.Open("mysql", fmt.Sprintf("root@unix(%s)/%s", os.Getenv("STEMDB_SOCKET"), database))
	if err != nil {
		return err
	}
	defer db.Close()
	return expect(db, "client_go", "SELECT DATABASE()")
}

func login(user, password, options string) error {
	db, err := sql.Open("mysql", dsn(user, password, database, options))
	if err != nil {
		return err
	}
	defer db.Close()
	return expect(db, user, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)")
}

func wrongPassword() error {
	for _, user := range []string{"go_rsa", "go_native", "nobody_here"} {
		db, err := sql.Open("mysql", dsn(user, "wrong", database, ""))
		if err != nil {
			return err
		}
		err = db.Ping()
		db.Close()
		if err := expectError(err, 1045, "28000"); err != nil {
			return err
		}
	}
	return nil
}

func unknownDatabase() error {
	db, err := sql.Open("mysql", dsn("root", "", "no_such_database", ""))
	if err != nil {
		return err
	}
	defer db.Close()
	return expectError(db.Ping(), 1049, "42000")
}

func statements(options string) error {
	db, err := open(options)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db,
		"DROP TABLE IF EXISTS s",
		"CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50))"); err != nil {
		return err
	}
	result, err := db.Exec("INSERT INTO s (v) VALUES (?), (?)", "it's \\ \"quoted\"", nil)
	if err != nil {
		return err
	}
	id, _ := result.LastInsertId()
	affected, _ := result.RowsAffected()
	if id != 1 || affected != 2 {
		return fmt.Errorf("insert id %d, affected %d", id, affected)
	}
	if err := expect(db, "it's \\ \"quoted\"", "SELECT v FROM s WHERE id = ?", 1); err != nil {
		return err
	}
	if err := expect(db, "<nil>", "SELECT v FROM s WHERE id = ?", 2); err != nil {
		return err
	}
	// A statement kept and run again, on the connection it belongs to.
	statement, err := db.Prepare("UPDATE s SET v = ? WHERE id = ?")
	if err != nil {
		return err
	}
	defer statement.Close()
	for i := 0; i < 3; i++ {
		if _, err := statement.Exec(fmt.Sprint("again ", i), 2); err != nil {
			return err
		}
	}
	if err := expect(db, "again 2", "SELECT v FROM s WHERE id = 2"); err != nil {
		return err
	}
	rows, err := db.Query("SELECT id FROM s WHERE id > ? ORDER BY id", 0)
	if err != nil {
		return err
	}
	defer rows.Close()
	count := 0
	for rows.Next() {
		count++
	}
	if count != 2 || rows.Err() != nil {
		return fmt.Errorf("%d rows, %v", count, rows.Err())
	}
	return nil
}

// A column's type, a value to write, and the text it is read as.
var typed = []struct {
	kind  string
	value any
	read  string
}{
	{"TINYINT", -128, "-128"},
	{"TINYINT UNSIGNED", 255, "255"},
	{"SMALLINT", -32768, "-32768"},
	{"MEDIUMINT", 8388607, "8388607"},
	{"INT", -2147483648, "-2147483648"},
	{"INT UNSIGNED", int64(4294967295), "4294967295"},
	{"BIGINT", int64(-9223372036854775808), "-9223372036854775808"},
	{"BIGINT UNSIGNED", uint64(18446744073709551615), "18446744073709551615"},
	{"BOOL", true, "1"},
	{"DECIMAL(65,30)", "12345678901234567890123456789012345.123456789012345678901234567890", "12345678901234567890123456789012345.123456789012345678901234567890"},
	{"DECIMAL(10,2)", "-0.05", "-0.05"},
	{"FLOAT", float32(1.5), "1.5"},
	{"DOUBLE", -2.25e300, "-2.25e+300"},
	{"CHAR(5)", "äöü", "äöü"},
	{"VARCHAR(100)", "😀 text ", "😀 text "},
	{"BINARY(4)", []byte{0, 255}, "\x00\xff\x00\x00"},
	{"VARBINARY(10)", []byte{0, 255, 10}, "\x00\xff\n"},
	{"TINYTEXT", "tiny", "tiny"},
	{"TEXT", strings.Repeat("t", 60000), strings.Repeat("t", 60000)},
	{"MEDIUMTEXT", strings.Repeat("m", 70000), strings.Repeat("m", 70000)},
	{"LONGTEXT", "long", "long"},
	{"BLOB", []byte{0xde, 0xad}, "\xde\xad"},
	{"LONGBLOB", []byte{}, ""},
	{"DATE", "2024-02-29", "2024-02-29"},
	{"DATETIME", "2024-02-29 23:59:59", "2024-02-29 23:59:59"},
	{"DATETIME(6)", "2024-02-29 23:59:59.123456", "2024-02-29 23:59:59.123456"},
	{"TIMESTAMP NULL", "2024-02-29 12:00:00", "2024-02-29 12:00:00"},
	{"TIME", "-838:59:59", "-838:59:59"},
	{"TIME(3)", "12:34:56.789", "12:34:56.789"},
	{"YEAR", 2155, "2155"},
	{"JSON", `{"a": [1, null]}`, `{"a": [1, null]}`},
	{"INT", nil, "<nil>"},
	{"VARCHAR(10)", nil, "<nil>"},
	{"DATETIME", nil, "<nil>"},
}

func types(options string) error {
	db, err := open(options)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var columns, marks []string
	var values []any
	for i, t := range typed {
		columns = append(columns, fmt.Sprintf("c%d %s", i, t.kind))
		marks = append(marks, "?")
		values = append(values, t.value)
	}
	if err := run(db, "DROP TABLE IF EXISTS ty", "CREATE TABLE ty ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	if _, err := db.Exec("INSERT INTO ty VALUES ("+strings.Join(marks, ", ")+")", values...); err != nil {
		return err
	}
	for i, t := range typed {
		// With a parameter the binary protocol answers, without one the text protocol.
		query, args := fmt.Sprintf("SELECT c%d FROM ty WHERE 1 = ?", i), []any{1}
		if options != "" {
			query, args = fmt.Sprintf("SELECT c%d FROM ty", i), nil
		}
		if err := expect(db, t.read, query, args...); err != nil {
			return fmt.Errorf("%s: %w", t.kind, err)
		}
	}
	return nil
}

func timeValues() error {
	db, err := open("parseTime=true&loc=UTC")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS tv", "CREATE TABLE tv (id INT PRIMARY KEY, a DATETIME(6), b DATE, c TIMESTAMP(3) NULL)"); err != nil {
		return err
	}
	now := time.Date(2024, 2, 29, 12, 34, 56, 789012000, time.UTC)
	if _, err := db.Exec("INSERT INTO tv VALUES (?, ?, ?, ?)", 1, now, now, now); err != nil {
		return err
	}
	var a, b, c time.Time
	if err := db.QueryRow("SELECT a, b, c FROM tv WHERE id = ? AND a = ?", 1, now).Scan(&a, &b, &c); err != nil {
		return err
	}
	if !a.Equal(now) || !b.Equal(now.Truncate(24*time.Hour)) || !c.Equal(now.Truncate(time.Millisecond)) {
		return fmt.Errorf("read %v, %v, %v", a, b, c)
	}
	return nil
}

func columnTypes() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query("SELECT c1, c7, c9, c14, c18, c25, c30 FROM ty WHERE 1 = ?", 1)
	if err != nil {
		return err
	}
	defer rows.Close()
	got, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	want := []string{"UNSIGNED TINYINT", "UNSIGNED BIGINT", "DECIMAL", "VARCHAR", "TEXT", "DATETIME", "JSON"}
	for i, column := range got {
		if column.DatabaseTypeName() != want[i] {
			return fmt.Errorf("%s is %s, not %s", column.Name(), column.DatabaseTypeName(), want[i])
		}
	}
	return nil
}

func transactions() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS tr", "CREATE TABLE tr (id INT PRIMARY KEY)"); err != nil {
		return err
	}
	ctx := context.Background()
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO tr VALUES (?)", 1); err != nil {
			return err
		}
		if err := expect(db, "0", "SELECT COUNT(*) FROM tr"); err != nil {
			return err
		}
		if err := tx.Rollback(); err != nil {
			return err
		}
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT INTO tr VALUES (?), (?)", 1, 2); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if err := expect(db, "2", "SELECT COUNT(*) FROM tr"); err != nil {
		return err
	}
	tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = tx.Exec("DELETE FROM tr")
	tx.Rollback()
	return expectError(err, 1792, "25006")
}

func errorNumbers() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS er", "CREATE TABLE er (id INT PRIMARY KEY, v VARCHAR(2) NOT NULL)", "INSERT INTO er VALUES (1, 'a')"); err != nil {
		return err
	}
	for _, c := range []struct {
		statement string
		number    uint16
		state     string
	}{
		{"INSERT INTO er VALUES (1, 'b')", 1062, "23000"},
		{"INSERT INTO er VALUES (2, 'long')", 1406, "22001"},
		{"INSERT INTO er VALUES (2, NULL)", 1048, "23000"},
		{"INSERT INTO er (id) VALUES (2)", 1364, "HY000"},
		{"SELECT * FROM nowhere", 1146, "42S02"},
		{"SELECT nope FROM er", 1054, "42S22"},
		{"SELEC 1", 1064, "42000"},
		{"CREATE TABLE er (id INT)", 1050, "42S01"},
	} {
		_, err := db.Exec(c.statement)
		if err := expectError(err, c.number, c.state); err != nil {
			return fmt.Errorf("%s: %w", c.statement, err)
		}
		// Without its results being prepared first, too.
		if _, err := db.Prepare(c.statement); err != nil {
			if err := expectError(err, c.number, c.state); err != nil {
				return fmt.Errorf("prepare %s: %w", c.statement, err)
			}
		}
	}
	return db.Ping()
}

func severalStatements() error {
	db, err := open("multiStatements=true")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query("SELECT 1; SELECT 2, 3; SELECT 'four'")
	if err != nil {
		return err
	}
	defer rows.Close()
	results := 1
	for rows.Next() {
	}
	for rows.NextResultSet() {
		results++
		for rows.Next() {
		}
	}
	if results != 3 || rows.Err() != nil {
		return fmt.Errorf("%d results, %v", results, rows.Err())
	}
	single, err := open("")
	if err != nil {
		return err
	}
	defer single.Close()
	_, err = single.Exec("SELECT 1; SELECT 2")
	return expectError(err, 1064, "42000")
}

func bigPackets(options string) error {
	db, err := open(options)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS big", "CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT)"); err != nil {
		return err
	}
	// Around the 16 MiB - 1 that one packet holds, and beyond it.
	for i, size := range []int{100, 70_000, 1<<24 - 60, 1<<24 - 1, 17 << 20} {
		if size > 1<<20 && os.Getenv("STEMDB_LARGE_ROWS") == "0" {
			continue // more than a TiKV cluster takes in one row
		}
		value := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		if _, err := db.Exec("INSERT INTO big VALUES (?, ?)", i, value); err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
		var read string
		if err := db.QueryRow("SELECT v FROM big WHERE id = ?", i).Scan(&read); err != nil {
			return fmt.Errorf("%d bytes: %w", size, err)
		}
		if read != value {
			return fmt.Errorf("%d bytes came back as %d others", size, len(read))
		}
	}
	return run(db, "DROP TABLE big")
}

func kill() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	victim, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer victim.Close()
	if err := run(db, "DROP TABLE IF EXISTS ki", "CREATE TABLE ki (id INT PRIMARY KEY)", "INSERT INTO ki VALUES (1)"); err != nil {
		return err
	}
	var id int64
	if err := victim.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return err
	}
	holder, err := db.Begin()
	if err != nil {
		return err
	}
	defer holder.Rollback()
	if _, err := holder.Exec("SELECT * FROM ki WHERE id = 1 FOR UPDATE"); err != nil {
		return err
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := victim.ExecContext(context.Background(), "DELETE FROM ki WHERE id = 1")
		waiting <- err
	}()
	var ended error
	for running := true; running; { // a KILL that comes before the statement is forgotten
		select {
		case ended = <-waiting:
			running = false
		case <-time.After(300 * time.Millisecond):
			if _, err := db.Exec(fmt.Sprintf("KILL QUERY %d", id)); err != nil {
				return err
			}
		}
	}
	if err := expectError(ended, 1317, "70100"); err != nil {
		return err
	}
	if err := victim.PingContext(context.Background()); err != nil {
		return fmt.Errorf("after KILL QUERY: %w", err)
	}
	if _, err := db.Exec(fmt.Sprintf("KILL %d", id)); err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond)
	if err := victim.PingContext(context.Background()); err == nil {
		return errors.New("the connection survived KILL")
	}
	return nil
}

func timeouts() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	// A cancelled context closes the connection: the server must let go of what the statement held.
	if err := run(db, "DROP TABLE IF EXISTS ti", "CREATE TABLE ti (id INT PRIMARY KEY)", "INSERT INTO ti VALUES (1)"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM ti WHERE id = 1"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DO SLEEP(20)"); err == nil {
		return errors.New("the statement was not cancelled")
	}
	start := time.Now()
	if _, err := db.Exec("UPDATE ti SET id = 2 WHERE id = 1"); err != nil {
		return err
	}
	if waited := time.Since(start); waited > 10*time.Second {
		return fmt.Errorf("the vanished client's lock was held for %v", waited)
	}
	limited, err := open("innodb_lock_wait_timeout=1")
	if err != nil {
		return err
	}
	defer limited.Close()
	holder, err := db.Begin()
	if err != nil {
		return err
	}
	defer holder.Rollback()
	if _, err := holder.Exec("UPDATE ti SET id = 3 WHERE id = 2"); err != nil {
		return err
	}
	_, err = limited.Exec("UPDATE ti SET id = 4 WHERE id = 2")
	return expectError(err, 1205, "HY000")
}

func run(db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return nil
}

// expect runs a query for one value and compares its text.
func expect(db *sql.DB, want, query string, args ...any) error {
	var value any
	if err := db.QueryRow(query, args...).Scan(&value); err != nil {
		return err
	}
	got := fmt.Sprint(value)
	if bytes, ok := value.([]byte); ok {
		got = string(bytes)
	}
	// The text protocol writes exponents without the plus sign.
	if got != want && got != strings.Replace(want, "e+", "e", 1) {
		return fmt.Errorf("got %.80q, expected %.80q", got, want)
	}
	return nil
}

func expectError(err error, number uint16, state string) error {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return fmt.Errorf("expected error %d, got %v", number, err)
	}
	if e.Number != number || string(e.SQLState[:]) != state {
		return fmt.Errorf("expected error %d (%s), got %d (%s): %s", number, state, e.Number, e.SQLState[:], e.Message)
	}
	return nil
}
