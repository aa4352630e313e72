package placement

import "bytes"

// PD's lookups. Keys here are encoded, as PD's are.

// RegionAt returns the region that holds the encoded key.
func (c *Cluster) RegionAt(encoded []byte) Region {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.describe(c.regions[c.atEncoded(encoded)])
}

// RegionBefore returns the region before the one that holds the encoded key; there may be none.
func (c *Cluster) RegionBefore(encoded []byte) (Region, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i := c.atEncoded(encoded)
	if i == 0 {
		return Region{}, false
	}
	return c.describe(c.regions[i-1]), true
}

// RegionByID returns a region, if there is one of this id.
func (c *Cluster) RegionByID(id uint64) (Region, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if r := c.byID[id]; r != nil {
		return c.describe(r), true
	}
	return Region{}, false
}

// Regions returns the regions that overlap the range of encoded keys, at most limit of them when limit is above 0. An
// empty end has no bound.
func (c *Cluster) Regions(start, end []byte, limit int) []Region {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var found []Region
	for _, r := range c.regions[c.atEncoded(start):] {
		if len(end) > 0 && bytes.Compare(Encode(r.start), end) >= 0 || limit > 0 && len(found) == limit {
			break
		}
		found = append(found, c.describe(r))
	}
	return found
}

// atEncoded is [Cluster.at] for an encoded key. It accepts any bytes: clients may ask for a position
// between two keys.
func (c *Cluster) atEncoded(encoded []byte) int {
	i := 0
	for i+1 < len(c.regions) && bytes.Compare(Encode(c.regions[i+1].start), encoded) <= 0 {
		i++
	}
	return i
}
