// Package placement is where keys live: the stores, the regions that divide the keys among them, each region's peers, leader
// and epoch, and the checks a request has to pass before it may touch data.
//
// There is no Raft. A region has a leader while most of its peers' stores are up, and a new one at once when its leader's
// store stops. Package mvcc has the data, which knows nothing of this.
package placement

import (
	"bytes"
	"fmt"
	"sort"
	"sync"

	"github.com/pingcap/kvproto/pkg/metapb"
)

// replicas is how many stores a region is on, when there are as many.
const replicas = 3

// initialTerm is Raft's term of a region's first leader in TiKV.
const initialTerm = 6

// Cluster is the stores and regions. It is safe for concurrent use.
type Cluster struct {
	ID uint64

	mu      sync.RWMutex
	stores  []*store  // by id
	regions []*region // by start key; together they cover every key
	byID    map[uint64]*region
	lastID  uint64

	scattered int // how often a region was
}

type store struct {
	id      uint64
	address string
	up      bool
}

// region is a range of keys. Its bounds are plain keys, not encoded.
type region struct {
	id         uint64
	start, end []byte
	confVer    uint64
	version    uint64
	peers      []*metapb.Peer
	leader     *metapb.Peer // nil while too few of its stores are up
	term       uint64
}

// Region is a copy of a region's description, with its bounds encoded as on the wire.
type Region struct {
	Meta   *metapb.Region
	Leader *metapb.Peer // nil while there is none
	Down   []*metapb.Peer
}

// New makes a cluster of one region on the stores with these addresses. Their ids begin with 1.
func New(clusterID uint64, addresses []string) *Cluster {
	c := &Cluster{ID: clusterID}
	for _, address := range addresses {
		c.stores = append(c.stores, &store{id: c.newID(), address: address, up: true})
	}
	first := &region{id: c.newID(), confVer: 1, version: 1, term: initialTerm}
	for _, s := range c.stores[:min(replicas, len(c.stores))] {
		first.peers = append(first.peers, &metapb.Peer{Id: c.newID(), StoreId: s.id})
	}
	first.leader = first.peers[0]
	c.regions = []*region{first}
	c.byID = map[uint64]*region{first.id: first}
	return c
}

func (c *Cluster) newID() uint64 {
	c.lastID++
	return c.lastID
}

// NewID returns an id that no store, region or peer has.
func (c *Cluster) NewID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newID()
}

func (c *Cluster) store(id uint64) *store {
	for _, s := range c.stores {
		if s.id == id {
			return s
		}
	}
	return nil
}

// Stores returns all stores.
func (c *Cluster) Stores() []*metapb.Store {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var stores []*metapb.Store
	for _, s := range c.stores {
		stores = append(stores, s.meta())
	}
	return stores
}

// Store returns one store, nil when there is none of this id.
func (c *Cluster) Store(id uint64) *metapb.Store {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.store(id); s != nil {
		return s.meta()
	}
	return nil
}

// meta is the store as PD describes it. PD calls a stopped store "Up" for a long time, so the state says
// nothing.
func (s *store) meta() *metapb.Store {
	return &metapb.Store{Id: s.id, Address: s.address, State: metapb.StoreState_Up, NodeState: metapb.NodeState_Serving, Version: "8.5.0"}
}

// Aftermath is what happens to the regions that a stopped store leads.
type Aftermath int

const (
	// Elect: another peer leads at once.
	Elect Aftermath = iota
	// Stay: no peer has noticed yet, and all still name the unreachable leader.
	Stay
	// Leaderless: the peers have noticed, and have not elected another leader yet.
	Leaderless
)

// SetUp records that a store stopped or came back. A store that comes back takes part in elections of
// regions without a leader.
func (c *Cluster) SetUp(storeID uint64, up bool, aftermath Aftermath) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.store(storeID)
	if s == nil {
		return fmt.Errorf("no store %d", storeID)
	}
	s.up = up
	for _, r := range c.regions {
		switch {
		case aftermath == Elect:
			c.elect(r)
		case aftermath == Leaderless && !up && r.leader != nil && r.leader.StoreId == storeID:
			r.leader = nil
		}
	}
	return nil
}

// Elect ends [Stay] and [Leaderless]: regions whose leader is not up elect another.
func (c *Cluster) Elect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.regions {
		c.elect(r)
	}
}

// Up reports whether the store runs.
func (c *Cluster) Up(storeID uint64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.store(storeID)
	return s != nil && s.up
}

// elect gives r a leader if most of its stores are up, and none otherwise. A leader that is up stays.
func (c *Cluster) elect(r *region) {
	var live []*metapb.Peer
	for _, p := range r.peers {
		if c.store(p.StoreId).up {
			live = append(live, p)
		}
	}
	switch {
	case len(live)*2 <= len(r.peers):
		r.leader = nil
	case r.leader == nil || !c.store(r.leader.StoreId).up:
		r.leader = live[int(r.id)%len(live)]
		r.term++
	}
}

// at returns the position of the region that holds key.
func (c *Cluster) at(key []byte) int {
	return sort.Search(len(c.regions), func(i int) bool { return bytes.Compare(c.regions[i].start, key) > 0 }) - 1
}

func (r *region) meta() *metapb.Region {
	return &metapb.Region{
		Id: r.id, StartKey: Encode(r.start), EndKey: Encode(r.end), Peers: r.peers,
		RegionEpoch: &metapb.RegionEpoch{ConfVer: r.confVer, Version: r.version},
	}
}

func (c *Cluster) describe(r *region) Region {
	d := Region{Meta: r.meta(), Leader: r.leader}
	for _, p := range r.peers {
		if !c.store(p.StoreId).up {
			d.Down = append(d.Down, p)
		}
	}
	return d
}
