// Command tikv-stand-in is a TiKV cluster in one process and in memory, for tests: several stores, a PD and keyspaces, each
// on a loopback port of its own, and a control port through which a test injects faults. See README.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"stemdb/tests/tikv-stand-in/internal/cluster"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	s := cluster.Settings{Limits: mvcc.DefaultLimits()}
	var authority, certificate, key string
	flag.Func("pd", "addresses of PD's members, separated by commas; port 0 takes a free one (default one member at 127.0.0.1:0)", list(&s.PDs))
	flag.StringVar(&s.Control, "control", "127.0.0.1:0", "the control port's address")
	flag.IntVar(&s.Stores, "stores", 3, "how many stores, each on a free port")
	flag.Func("split", "keys at which the first regions begin, separated by commas; their leaders are spread over the stores", list(&s.Splits))
	flag.Func("keyspaces", "names of keyspaces beside DEFAULT, separated by commas", list(&s.Keyspaces))
	flag.DurationVar(&s.Limits.LockWait, "lock-wait", s.Limits.LockWait, "how long one request waits for a lock at most (TiKV's wait-for-lock-timeout)")
	flag.DurationVar(&s.Limits.WakeUpDelay, "wake-up-delay", s.Limits.WakeUpDelay, "how long further waiters sleep after a release (TiKV's wake-up-delay-duration)")
	flag.StringVar(&authority, "ca", "", "with -cert and -key: serve TLS, to clients whose certificate this authority signed")
	flag.StringVar(&certificate, "cert", "", "the certificate to serve TLS with")
	flag.StringVar(&key, "key", "", "its key")
	flag.BoolVar(&s.LogCalls, "v", false, "log every call")
	flag.BoolVar(&s.OldPD, "old-pd", false, "hold garbage collection back as PD up to 8.5 does")
	watchInput := flag.Bool("watch-stdin", false, "stop when standard input is closed")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected %q", flag.Arg(0))
	}
	if len(s.PDs) == 0 {
		s.PDs = []string{"127.0.0.1:0"}
	}
	var err error
	if s.TLS, err = loadTLS(authority, certificate, key); err != nil {
		log.Fatal(err)
	}
	c, err := cluster.Start(s)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ready pd=%s control=%s stores=%s\n", strings.Join(c.PD.Addresses(), ","), c.ControlAddress, strings.Join(c.StoreAddresses, ","))
	if err := wait(*watchInput, c.Failed()); err != nil {
		log.Fatal(err)
	}
}

func list(into *[]string) func(string) error {
	return func(given string) error {
		*into = append(*into, strings.FieldsFunc(given, func(r rune) bool { return r == ',' })...)
		return nil
	}
}

// wait returns when the process is to end.
func wait(watchInput bool, failed <-chan error) error {
	closed := make(chan struct{})
	if watchInput {
		go func() {
			io.Copy(io.Discard, os.Stdin) // an error is an end too
			close(closed)
		}()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	select {
	case err := <-failed:
		return err
	case <-closed:
	case <-signals:
	}
	return nil
}
