// Package clock is PD's timestamp oracle: timestamps that only grow, made of milliseconds and a counter below them.
package clock

import (
	"sync"
	"time"
)

// LogicalBits is how many bits of a timestamp count within a millisecond.
const LogicalBits = 18

// step is the interval at which PD's milliseconds advance (tso-update-physical-interval): timestamps lag
// behind its clock by up to that much.
const step = 50

// Clock hands out timestamps. It is safe for concurrent use.
type Clock struct {
	mu                sync.Mutex
	ahead             time.Duration // how far it was moved ahead of the machine's clock
	physical, logical int64
}

// Take hands out n timestamps and returns the last of them, as PD does.
func (c *Clock) Take(n int64) (physical, logical int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now().Add(c.ahead).UnixMilli(); now >= c.physical+step {
		c.physical, c.logical = now, 0
	}
	if c.logical+n >= 1<<LogicalBits {
		c.physical, c.logical = c.physical+1, 0
	}
	c.logical += n
	return c.physical, c.logical
}

// Now hands out one timestamp.
func (c *Clock) Now() uint64 {
	physical, logical := c.Take(1)
	return Compose(physical, logical)
}

// Advance moves the clock ahead of the machine's, so that a test need not wait until a lock expires.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += by
	c.physical += by.Milliseconds() // it may already be ahead of the machine's, by timestamps that were asked for
}

// Compose makes a timestamp of its parts.
func Compose(physical, logical int64) uint64 {
	return uint64(physical)<<LogicalBits + uint64(logical)
}
