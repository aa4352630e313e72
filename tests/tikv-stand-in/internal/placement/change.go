package placement

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pingcap/kvproto/pkg/metapb"
)

// Split makes key, a plain key, the start of a region. As in TiKV, the right part keeps the region's id, and both parts get
// a new epoch. A key that is a start already stays as it is. It returns the region that now starts at key.
func (c *Cluster) Split(key []byte) (Region, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(key) == 0 {
		return Region{}, fmt.Errorf("the empty key is the start of the first region already")
	}
	i := c.at(key)
	right := c.regions[i]
	if bytes.Equal(right.start, key) {
		return c.describe(right), nil
	}
	left := &region{
		id: c.newID(), start: right.start, end: bytes.Clone(key),
		confVer: right.confVer, version: right.version + 1, term: right.term,
	}
	for _, p := range right.peers {
		peer := &metapb.Peer{Id: c.newID(), StoreId: p.StoreId}
		left.peers = append(left.peers, peer)
		if p == right.leader {
			left.leader = peer
		}
	}
	right.start = left.end
	right.version++
	c.regions = slices.Insert(c.regions, i, left)
	c.byID[left.id] = left
	return c.describe(right), nil
}

// Merge joins the region that holds key with the one after it, which keeps its id.
func (c *Cluster) Merge(key []byte) (Region, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.at(key)
	if i+1 == len(c.regions) {
		return Region{}, fmt.Errorf("region %d is the last one", c.regions[i].id)
	}
	source, target := c.regions[i], c.regions[i+1]
	target.start = source.start
	target.version = max(source.version, target.version) + 1
	c.regions = slices.Delete(c.regions, i, i+1)
	delete(c.byID, source.id)
	return c.describe(target), nil
}

// MoveLeader makes the peer on a store the leader of the region that holds key. The epoch stays.
func (c *Cluster) MoveLeader(key []byte, storeID uint64) (Region, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.regions[c.at(key)]
	s := c.store(storeID)
	if s == nil || !s.up {
		return Region{}, fmt.Errorf("store %d is not there or not up", storeID)
	}
	p := r.peerOn(storeID)
	if p == nil {
		return Region{}, fmt.Errorf("region %d has no peer on store %d", r.id, storeID)
	}
	if r.leader != p {
		r.leader = p
		r.term++
	}
	return c.describe(r), nil
}

// MovePeer moves a peer of the region that holds key from one store to another, which has none of it yet.
func (c *Cluster) MovePeer(key []byte, from, to uint64) (Region, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.regions[c.at(key)]
	s := c.store(to)
	if s == nil || !s.up || r.peerOn(to) != nil {
		return Region{}, fmt.Errorf("store %d cannot take a peer of region %d", to, r.id)
	}
	old := r.peerOn(from)
	if old == nil {
		return Region{}, fmt.Errorf("region %d has no peer on store %d", r.id, from)
	}
	peer := &metapb.Peer{Id: c.newID(), StoreId: to}
	r.peers = append(slices.DeleteFunc(slices.Clone(r.peers), func(p *metapb.Peer) bool { return p == old }), peer)
	r.confVer += 2 // one change adds, one removes
	if r.leader == old {
		r.leader = peer
		r.term++
	}
	return c.describe(r), nil
}

// Scatter spreads the leaders of regions over the stores that are up, in turn, from where the call before stopped.
func (c *Cluster) Scatter(ids []uint64) (found int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		r := c.byID[id]
		if r == nil {
			continue
		}
		found++
		n := c.scattered
		c.scattered++
		for k := range r.peers {
			p := r.peers[(n+k)%len(r.peers)]
			if c.store(p.StoreId).up && r.leader != nil {
				if r.leader != p {
					r.leader = p
					r.term++
				}
				break
			}
		}
	}
	return found
}

func (r *region) peerOn(storeID uint64) *metapb.Peer {
	for _, p := range r.peers {
		if p.StoreId == storeID {
			return p
		}
	}
	return nil
}
