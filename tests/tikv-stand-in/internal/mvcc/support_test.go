package mvcc

import (
	"context"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// bed is a store with a clock of its own and short helpers for tests.
type bed struct {
	*testing.T
	*Store
	last uint64
}

// patience is longer than any step of a test takes, however busy the machine is.
const patience = 30 * time.Second

func newBed(t *testing.T) *bed {
	return &bed{t, New(Limits{LockWait: patience, WakeUpDelay: time.Millisecond}), 1000 << physicalShift}
}

func (b *bed) now() uint64 {
	b.last++
	return b.last
}

// later returns a timestamp ms milliseconds after the clock.
func (b *bed) later(ms uint64) uint64 { return b.last + ms<<physicalShift }

func put1(key, value string) *kvrpcpb.Mutation {
	return &kvrpcpb.Mutation{Op: kvrpcpb.Op_Put, Key: []byte(key), Value: []byte(value)}
}

func change(op kvrpcpb.Op, key string) *kvrpcpb.Mutation {
	return &kvrpcpb.Mutation{Op: op, Key: []byte(key)}
}

// optimistic makes a prewrite request whose first key is the primary.
func optimistic(startTS uint64, mutations ...*kvrpcpb.Mutation) *kvrpcpb.PrewriteRequest {
	return &kvrpcpb.PrewriteRequest{
		Mutations: mutations, PrimaryLock: mutations[0].Key, StartVersion: startTS, LockTtl: 3000, TxnSize: uint64(len(mutations)),
	}
}

// pessimistic makes the same of a pessimistic transaction, with one action for all keys.
func pessimistic(startTS, forUpdateTS uint64, action kvrpcpb.PrewriteRequest_PessimisticAction, mutations ...*kvrpcpb.Mutation) *kvrpcpb.PrewriteRequest {
	r := optimistic(startTS, mutations...)
	r.ForUpdateTs = forUpdateTS
	for range mutations {
		r.PessimisticActions = append(r.PessimisticActions, action)
	}
	return r
}

const (
	skipCheck    = kvrpcpb.PrewriteRequest_SKIP_PESSIMISTIC_CHECK
	wasLocked    = kvrpcpb.PrewriteRequest_DO_PESSIMISTIC_CHECK
	checkNewer   = kvrpcpb.PrewriteRequest_DO_CONSTRAINT_CHECK
	noWait       = -1
	asLongAsCan  = 0
	undecidedTTL = 3000
)

func (b *bed) mustPrewrite(r *kvrpcpb.PrewriteRequest) Prewritten {
	b.Helper()
	done, errs := b.Prewrite(r)
	if errs != nil {
		b.Fatalf("prewrite failed: %v", errs)
	}
	return done
}

// prewriteError runs a prewrite that must fail and returns the first error.
func (b *bed) prewriteError(r *kvrpcpb.PrewriteRequest) KeyError {
	b.Helper()
	_, errs := b.Prewrite(r)
	if len(errs) == 0 {
		b.Fatal("prewrite succeeded")
	}
	return errs[0]
}

func (b *bed) mustCommit(startTS, commitTS uint64, keys ...string) {
	b.Helper()
	if err := b.Commit(bytesOf(keys), startTS, commitTS); err != nil {
		b.Fatalf("commit failed: %v", err)
	}
}

// run commits mutations as one transaction and returns its commit timestamp.
func (b *bed) run(mutations ...*kvrpcpb.Mutation) uint64 {
	b.Helper()
	startTS := b.now()
	b.mustPrewrite(optimistic(startTS, mutations...))
	var keys []string
	for _, m := range mutations {
		keys = append(keys, string(m.Key))
	}
	commitTS := b.now()
	b.mustCommit(startTS, commitTS, keys...)
	return commitTS
}

// lockRequest makes a request for pessimistic locks; the first key is the primary.
func lockRequest(startTS, forUpdateTS uint64, wait int64, keys ...string) *kvrpcpb.PessimisticLockRequest {
	r := &kvrpcpb.PessimisticLockRequest{
		PrimaryLock: []byte(keys[0]), StartVersion: startTS, ForUpdateTs: forUpdateTS, LockTtl: undecidedTTL, WaitTimeout: wait,
		MinCommitTs: forUpdateTS + 1, ReturnValues: true,
	}
	for _, key := range keys {
		r.Mutations = append(r.Mutations, change(kvrpcpb.Op_PessimisticLock, key))
	}
	return r
}

func (b *bed) mustLock(startTS, forUpdateTS uint64, keys ...string) []LockedKey {
	b.Helper()
	found, errs := b.AcquirePessimisticLocks(context.Background(), lockRequest(startTS, forUpdateTS, noWait, keys...))
	if errs != nil {
		b.Fatalf("lock failed: %v", errs)
	}
	return found
}

// lockError sends a lock request that must be refused and returns the error.
func (b *bed) lockError(r *kvrpcpb.PessimisticLockRequest) KeyError {
	b.Helper()
	_, errs := b.AcquirePessimisticLocks(context.Background(), r)
	if len(errs) != 1 {
		b.Fatalf("%d errors", len(errs))
	}
	return errs[0]
}

// lockLater sends a lock request in the background and returns once it waits.
func (b *bed) lockLater(r *kvrpcpb.PessimisticLockRequest, waitingFor string) <-chan []KeyError {
	b.Helper()
	before := b.Waiting([]byte(waitingFor))
	result := make(chan []KeyError, 1)
	go func() {
		_, errs := b.AcquirePessimisticLocks(context.Background(), r)
		result <- errs
	}()
	b.until("it waits", func() bool { return b.Waiting([]byte(waitingFor)) > before })
	return result
}

func (b *bed) until(what string, done func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("never: %s", what)
		}
	}
}

func (b *bed) answerOf(result <-chan []KeyError) []KeyError {
	b.Helper()
	select {
	case errs := <-result:
		return errs
	case <-time.After(patience):
		b.Fatal("the waiter was never answered")
		return nil
	}
}

const (
	nothing = "-"
	locked  = "locked"
)

// read shows what a snapshot sees: a value, nothing, or locked.
func (b *bed) read(version uint64, key string) string {
	return b.readAs(Snapshot{Version: version}, key)
}

func (b *bed) readAs(snapshot Snapshot, key string) string {
	value, found, err := b.Get(snapshot, []byte(key))
	switch {
	case err != nil && err.Locked != nil:
		return locked
	case err != nil:
		return err.String()
	case !found:
		return nothing
	}
	return string(value)
}

func (b *bed) expect(what, got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func bytesOf(keys []string) [][]byte {
	var list [][]byte
	for _, key := range keys {
		list = append(list, []byte(key))
	}
	return list
}

// kindOf names the error's kind, for comparison.
func kindOf(err KeyError) string {
	switch {
	case err == nil:
		return "none"
	case err.Locked != nil:
		return "locked"
	case err.Conflict != nil:
		return "conflict " + err.Conflict.Reason.String()
	case err.AlreadyExist != nil:
		return "exists"
	case err.Deadlock != nil:
		return "deadlock"
	case err.TxnNotFound != nil:
		return "transaction not found"
	case err.CommitTsExpired != nil:
		return "commit too early"
	case err.AssertionFailed != nil:
		return "assertion"
	case err.PrimaryMismatch != nil:
		return "not the primary"
	case err.Retryable != "":
		return "retryable"
	default:
		return "abort"
	}
}

func (b *bed) expectKind(what string, err KeyError, want string) {
	b.Helper()
	if got := kindOf(err); got != want {
		b.Errorf("%s: got %s (%v), want %s", what, got, err, want)
	}
}
