// Package cluster puts the parts together: a clock, data, regions, stores, a PD and the control port, all of them running.
package cluster

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"stemdb/tests/tikv-stand-in/internal/clock"
	"stemdb/tests/tikv-stand-in/internal/control"
	"stemdb/tests/tikv-stand-in/internal/faults"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
	"stemdb/tests/tikv-stand-in/internal/placement"
	"stemdb/tests/tikv-stand-in/internal/service"
)

// Settings are the settings that a test may choose.
type Settings struct {
	PDs       []string // the members' addresses; port 0 takes a free one
	Control   string   // the control port's address
	Stores    int      // how many; each gets a free port on loopback
	Splits    []string // plain keys at which the first regions begin
	Keyspaces []string // beside DEFAULT
	Limits    mvcc.Limits
	TLS       *tls.Config // nil for plain connections
	LogCalls  bool
	OldPD     bool // PD up to 8.5
}

// Cluster runs until Stop.
type Cluster struct {
	control.Server
	StoreAddresses []string
	ControlAddress string
	http           *http.Server
	failed         chan error
}

// Start makes a cluster and returns when all its ports are open.
func Start(s Settings) (*Cluster, error) {
	if s.Stores < 1 || len(s.PDs) < 1 {
		return nil, errors.New("a cluster needs one store and one PD or more")
	}
	c := &Cluster{failed: make(chan error, 1)}
	c.Faults, c.Data, c.Clock = &faults.Faults{}, mvcc.New(s.Limits), &clock.Clock{}
	options := service.Options{Faults: c.Faults, TLS: s.TLS, LogCalls: s.LogCalls, OldPD: s.OldPD}

	if err := c.startStores(s, options); err != nil {
		return nil, err
	}
	var err error
	if c.PD, err = service.NewPDGroup(options, s.PDs, c.Cluster, c.Clock, c.Data, s.Keyspaces); err != nil {
		return nil, err
	}
	for i := range s.PDs {
		if err := c.PD.Start(i); err != nil {
			return nil, err
		}
	}
	port, err := net.Listen("tcp", s.Control)
	if err != nil {
		return nil, err
	}
	c.ControlAddress = port.Addr().String()
	c.http = &http.Server{Handler: c.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { c.failed <- c.http.Serve(port) }()
	return c, nil
}

// startStores makes the stores and spreads the first regions' leaders over them.
func (c *Cluster) startStores(s Settings, options service.Options) error {
	var stores []*service.TiKV
	for range s.Stores {
		store, err := service.NewTiKV(options, "127.0.0.1:0")
		if err != nil {
			return err
		}
		stores, c.StoreAddresses = append(stores, store), append(c.StoreAddresses, store.Address())
	}
	// An identity that no other run has: a client that remembers an earlier cluster's must notice.
	c.Cluster = placement.New(uint64(time.Now().UnixNano()), c.StoreAddresses)
	for _, key := range s.Splits {
		if _, err := c.Cluster.Split([]byte(key)); err != nil {
			return err
		}
	}
	var ids []uint64
	for _, region := range c.Cluster.Regions(nil, nil, 0) {
		ids = append(ids, region.Meta.Id)
	}
	c.Cluster.Scatter(ids)

	c.Stores = make(map[uint64]*service.TiKV)
	for i, meta := range c.Cluster.Stores() {
		c.Stores[meta.Id] = stores[i]
		stores[i].Join(c.Cluster, meta.Id, c.Data)
		if err := stores[i].Start(); err != nil {
			return err
		}
	}
	return nil
}

// Failed delivers the error that ended the control port.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Stop breaks all connections and closes all ports.
func (c *Cluster) Stop() {
	for _, store := range c.Stores {
		store.Stop()
	}
	for i := range c.PD.Addresses() {
		c.PD.Stop(i)
	}
	c.http.Close()
}
