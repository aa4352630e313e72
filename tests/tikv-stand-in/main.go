// Command tikv-stand-in is a TiKV cluster in one process and in memory, for tests: several stores, a PD and keyspaces, each
// on a loopback port of its own, with a further port through which a test breaks things. See README.md.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"stemdb/tests/tikv-stand-in/internal/clock"
	"stemdb/tests/tikv-stand-in/internal/control"
	"stemdb/tests/tikv-stand-in/internal/faults"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
	"stemdb/tests/tikv-stand-in/internal/placement"
	"stemdb/tests/tikv-stand-in/internal/service"
)

type settings struct {
	pd, control   string
	stores        int
	keyspaces     string
	watchInput    bool
	logCalls      bool
	limits        mvcc.Limits
	ca, cert, key string
	splits        string
}

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	s := settings{limits: mvcc.DefaultLimits()}
	flag.StringVar(&s.pd, "pd", "127.0.0.1:0", "PD's address; port 0 takes a free one")
	flag.StringVar(&s.control, "control", "127.0.0.1:0", "the control port's address")
	flag.IntVar(&s.stores, "stores", 3, "how many stores, each on a free port")
	flag.StringVar(&s.splits, "split", "", "keys at which the first regions are split, separated by commas; their leaders are spread over the stores")
	flag.StringVar(&s.keyspaces, "keyspaces", "", "names of keyspaces beside DEFAULT, separated by commas")
	flag.DurationVar(&s.limits.LockWait, "lock-wait", s.limits.LockWait, "how long one request waits for a lock at most (TiKV's wait-for-lock-timeout)")
	flag.DurationVar(&s.limits.WakeUpDelay, "wake-up-delay", s.limits.WakeUpDelay, "how long further waiters sleep after a release (TiKV's wake-up-delay-duration)")
	flag.BoolVar(&s.watchInput, "watch-stdin", false, "stop when standard input is closed")
	flag.BoolVar(&s.logCalls, "v", false, "log every call outside batches")
	flag.StringVar(&s.ca, "ca", "", "with -cert and -key: serve TLS, to clients whose certificate this authority signed")
	flag.StringVar(&s.cert, "cert", "", "the certificate to serve TLS with")
	flag.StringVar(&s.key, "key", "", "its key")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected %q", flag.Arg(0))
	}
	if err := run(s); err != nil {
		log.Fatal(err)
	}
}

// run serves until it is told to stop.
func run(s settings) error {
	if s.stores < 1 {
		return errors.New("-stores has to be 1 or more")
	}
	options := service.Options{Faults: &faults.Faults{}, LogCalls: s.logCalls}
	var err error
	if options.TLS, err = s.tls(); err != nil {
		return err
	}
	data, oracle := mvcc.New(s.limits), &clock.Clock{}

	var stores []*service.TiKV
	var addresses []string
	for range s.stores {
		store, err := service.NewTiKV(options, "127.0.0.1:0")
		if err != nil {
			return err
		}
		stores, addresses = append(stores, store), append(addresses, store.Address())
	}
	cluster := placement.New(uint64(time.Now().UnixNano()), addresses)
	byID := make(map[uint64]*service.TiKV)
	for i, meta := range cluster.Stores() {
		byID[meta.Id] = stores[i]
		stores[i].Join(cluster, meta.Id, data)
		if err := stores[i].Start(); err != nil {
			return err
		}
	}
	if err := split(cluster, names(s.splits)); err != nil {
		return err
	}
	keyspaces := service.NewKeyspaces(names(s.keyspaces))
	pd, err := service.NewPD(options, s.pd, cluster, oracle, data, keyspaces)
	if err != nil {
		return err
	}
	if err := pd.Start(); err != nil {
		return err
	}

	port, err := net.Listen("tcp", s.control)
	if err != nil {
		return err
	}
	server := &control.Server{
		Cluster: cluster, Stores: byID, PD: pd, Data: data, Clock: oracle, Faults: options.Faults, Keyspaces: keyspaces,
	}
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(port, server.Handler()) }()

	fmt.Printf("ready pd=%s control=%s stores=%s\n", pd.Address(), port.Addr(), strings.Join(addresses, ","))
	return wait(s.watchInput, failed)
}

// wait returns when the process is to end.
func wait(watchInput bool, failed <-chan error) error {
	ended := make(chan struct{})
	if watchInput {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			close(ended)
		}()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	select {
	case err := <-failed:
		return err
	case <-ended:
	case <-signals:
	}
	return nil
}

// split makes the first regions, and spreads their leaders.
func split(cluster *placement.Cluster, keys []string) error {
	for _, key := range keys {
		if _, err := cluster.Split([]byte(key)); err != nil {
			return err
		}
	}
	var ids []uint64
	for _, region := range cluster.Regions(nil, nil, 0) {
		ids = append(ids, region.Meta.Id)
	}
	cluster.Scatter(ids)
	return nil
}

func names(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// tls returns nil when no certificate was given.
func (s *settings) tls() (*tls.Config, error) {
	if s.cert == "" && s.key == "" && s.ca == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(s.ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", s.ca)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	}, nil
}
