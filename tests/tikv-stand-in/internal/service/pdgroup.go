package service

import (
	"fmt"
	"sync"

	"github.com/pingcap/kvproto/pkg/keyspacepb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"stemdb/tests/tikv-stand-in/internal/clock"
	"stemdb/tests/tikv-stand-in/internal/faults"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
	"stemdb/tests/tikv-stand-in/internal/placement"
)

// noLeader replaces a member's index while too few members are up.
const noLeader = -1

// PDGroup is PD's members and what they share. While most of them are up, one leads.
type PDGroup struct {
	cluster    *placement.Cluster
	clock      *clock.Clock
	data       *mvcc.Store
	keyspaces  *keyspaces
	safePoints *safePoints
	members    []*PD
	registry   registry

	mu     sync.Mutex
	up     []bool
	leader int
}

// NewPDGroup makes a member at each address; nothing is served before Start.
func NewPDGroup(options Options, addresses []string, cluster *placement.Cluster, clock *clock.Clock, data *mvcc.Store, keyspaces []string) (*PDGroup, error) {
	g := &PDGroup{cluster: cluster, clock: clock, data: data, safePoints: newSafePoints(options.OldPD), keyspaces: newKeyspaces(keyspaces)}
	for i, address := range addresses {
		n, err := newNode(options, faults.PD, address)
		if err != nil {
			return nil, err
		}
		p := &PD{node: n, PDGroup: g, index: i}
		n.register = func(server *grpc.Server) {
			pdpb.RegisterPDServer(server, p)
			keyspacepb.RegisterKeyspaceServer(server, &keyspaceService{pd: p})
			etcdserverpb.RegisterKVServer(server, &registryService{pd: p})
		}
		g.members, g.up = append(g.members, p), append(g.up, false)
	}
	g.leader = noLeader
	return g, nil
}

// Addresses are where the members listen, or did before they were stopped.
func (g *PDGroup) Addresses() []string {
	var addresses []string
	for _, p := range g.members {
		addresses = append(addresses, p.address)
	}
	return addresses
}

// Leader is the leading member's index, or -1.
func (g *PDGroup) Leader() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leader
}

// Start starts a member.
func (g *PDGroup) Start(index int) error {
	if err := g.known(index); err != nil {
		return err
	}
	if err := g.members[index].node.start(); err != nil {
		return err
	}
	g.setUp(index, true)
	return nil
}

// Stop kills a member. If it led, another takes over.
func (g *PDGroup) Stop(index int) error {
	if err := g.known(index); err != nil {
		return err
	}
	g.members[index].node.stop()
	g.setUp(index, false)
	return nil
}

// Lead makes a member the leader. Its connections stay open; the former leader's calls get "not leader".
func (g *PDGroup) Lead(index int) error {
	if err := g.known(index); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.up[index] || g.leader == noLeader {
		return fmt.Errorf("member %d cannot lead", index)
	}
	g.leader = index
	return nil
}

func (g *PDGroup) known(index int) error {
	if index < 0 || index >= len(g.members) {
		return fmt.Errorf("member %d is none of %d", index, len(g.members))
	}
	return nil
}

func (g *PDGroup) setUp(index int, up bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.up[index] = up
	first, n := noLeader, 0
	for i := len(g.up) - 1; i >= 0; i-- {
		if g.up[i] {
			first = i
			n++
		}
	}
	switch {
	case n*2 <= len(g.up):
		g.leader = noLeader
	case g.leader == noLeader || !g.up[g.leader]:
		g.leader = first
	}
}

func (g *PDGroup) header() *pdpb.ResponseHeader {
	return &pdpb.ResponseHeader{ClusterId: g.cluster.ID}
}

func (g *PDGroup) failed(kind pdpb.ErrorType, message string) *pdpb.ResponseHeader {
	return &pdpb.ResponseHeader{ClusterId: g.cluster.ID, Error: &pdpb.Error{Type: kind, Message: message}}
}

// describe describes a member as members do.
func (g *PDGroup) describe(index int) *pdpb.Member {
	n := g.members[index].node
	scheme := "http://"
	if n.options.TLS != nil {
		scheme = "https://"
	}
	url := []string{scheme + n.address}
	return &pdpb.Member{
		Name: fmt.Sprintf("pd-%d", index), MemberId: uint64(index) + 1, PeerUrls: url, ClientUrls: url, BinaryVersion: "v8.5.0",
	}
}

// AddKeyspace makes a keyspace, unless there is one of this name, and returns its id.
func (g *PDGroup) AddKeyspace(name string) uint32 { return g.keyspaces.add(name) }
