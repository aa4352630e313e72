package mvcc

import (
	"hash/fnv"

	"github.com/pingcap/kvproto/pkg/deadlock"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// detectDeadlock reports whether w, about to wait for a lock of holder, would close a cycle of waiting
// transactions.
//
// TiKV stores the waits-for graph in one elected store. Here it is derived from the queues: a transaction
// waits for the transaction that currently holds the lock its request queues for.
func (s *Store) detectDeadlock(w *waiter, holder uint64) KeyError {
	waits := make(map[uint64][]*waiter)
	for _, queue := range s.queues {
		for _, other := range queue {
			waits[other.startTS] = append(waits[other.startTS], other)
		}
	}
	chain := s.chainTo(w.startTS, holder, waits, make(map[uint64]bool))
	if chain == nil {
		return nil
	}
	last := chain[len(chain)-1] // the one that waits for w's transaction
	chain = append(chain, waitForEntry(w, holder))
	return &kvrpcpb.KeyError{Deadlock: &kvrpcpb.Deadlock{
		LockTs: holder, LockKey: w.key,
		DeadlockKeyHash: last.KeyHash, DeadlockKey: last.Key, WaitChain: chain,
	}}
}

// chainTo returns the waits that lead from transaction from to target, nil when none do.
func (s *Store) chainTo(target, from uint64, waits map[uint64][]*waiter, seen map[uint64]bool) []*deadlock.WaitForEntry {
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, w := range waits[from] {
		l := s.lockOf(w.key)
		if l == nil || l.startTS == from {
			continue // released; w is about to be woken
		}
		edge := waitForEntry(w, l.startTS)
		if l.startTS == target {
			return []*deadlock.WaitForEntry{edge}
		}
		if rest := s.chainTo(target, l.startTS, waits, seen); rest != nil {
			return append([]*deadlock.WaitForEntry{edge}, rest...)
		}
	}
	return nil
}

func waitForEntry(w *waiter, holder uint64) *deadlock.WaitForEntry {
	hash := fnv.New64a()
	hash.Write(w.key)
	return &deadlock.WaitForEntry{Txn: w.startTS, WaitForTxn: holder, Key: w.key, KeyHash: hash.Sum64()}
}
