package mvcc

import (
	"fmt"
	"math/rand"
	"strconv"
	"sync"
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// Many concurrent transactions move money between accounts, by every way to commit. No snapshot may ever
// see money appear or vanish.

const (
	accounts    = 5
	moneyEach   = 100
	moneyAll    = accounts * moneyEach
	moversEach  = 3
	moveTimes   = 60
	readerTimes = 200
)

func account(i int) string { return fmt.Sprintf("account %d", i) }

// bank is a bed whose clock may be used concurrently.
type bank struct {
	*bed
	mu sync.Mutex
}

func (k *bank) now() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bed.now()
}

// settle resolves a lock according to its transaction's status, and leaves it alone while the transaction
// is running.
func (k *bank) settle(info *kvrpcpb.LockInfo) {
	now := k.now()
	status, err := k.CheckTxnStatus(&kvrpcpb.CheckTxnStatusRequest{
		PrimaryKey: info.PrimaryLock, LockTs: info.LockVersion, CallerStartTs: now, CurrentTs: now, RollbackIfNotExist: true,
	})
	if err == nil && status.LockTtl == 0 && status.Action != kvrpcpb.Action_LockNotExistDoNothing {
		k.ResolveLocks(Range{}, map[uint64]uint64{info.LockVersion: status.CommitVersion})
	}
}

// balance reads an account at a snapshot, however long that takes.
func (k *bank) balance(version uint64, name string) int {
	for {
		value, found, err := k.Get(Snapshot{Version: version}, []byte(name))
		if err != nil {
			k.settle(err.Locked)
			continue
		}
		n, parseErr := strconv.Atoi(string(value))
		if !found || parseErr != nil {
			k.Errorf("%s holds %q", name, value)
		}
		return n
	}
}

// move tries once to move money. It may fail for the reasons for which transactions fail.
func (k *bank) move(random *rand.Rand, inPessimisticMode bool) {
	from, to := random.Intn(accounts), random.Intn(accounts)
	if from == to {
		return
	}
	keys, startTS := []string{account(from), account(to)}, k.now()
	readTS := startTS
	if inPessimisticMode {
		readTS = k.now()
		_, errs := k.AcquirePessimisticLocks(k.Context(), lockRequest(startTS, readTS, 1, keys...))
		if errs != nil {
			if l := errs[0].Locked; l != nil {
				k.settle(l)
			}
			return
		}
	}
	amount := random.Intn(10)
	left, right := k.balance(readTS, keys[0])-amount, k.balance(readTS, keys[1])+amount
	writes := []*kvrpcpb.Mutation{put1(keys[0], strconv.Itoa(left)), put1(keys[1], strconv.Itoa(right))}
	r := optimistic(startTS, writes...)
	r.MinCommitTs = startTS + 1
	if inPessimisticMode {
		r = pessimistic(startTS, readTS, wasLocked, writes...)
	}
	r.TryOnePc = random.Intn(3) == 0
	if r.UseAsyncCommit = random.Intn(3) == 0; r.UseAsyncCommit {
		r.Secondaries = bytesOf(keys[1:])
	}
	done, errs := k.Prewrite(r)
	switch {
	case errs != nil:
		if l := errs[0].Locked; l != nil {
			k.settle(l)
		}
		k.BatchRollback(bytesOf(keys), startTS)
		return
	case done.OnePhaseCommitTS != 0:
		return
	case random.Intn(5) == 0 && !r.UseAsyncCommit:
		k.BatchRollback(bytesOf(keys), startTS) // changed its mind
		return
	}
	commitTS := done.MinCommitTS
	if commitTS == 0 {
		commitTS = k.now()
	}
	if k.Commit(bytesOf(keys[:1]), startTS, commitTS) != nil {
		k.BatchRollback(bytesOf(keys), startTS)
		return
	}
	if random.Intn(3) > 0 { // otherwise the next one who meets the second key's lock finishes it
		k.Commit(bytesOf(keys[1:]), startTS, commitTS)
	}
}

func TestMoneyStaysTheSame(t *testing.T) {
	k := &bank{bed: newBed(t)}
	for i := range accounts {
		k.run(put1(account(i), strconv.Itoa(moneyEach)))
	}
	var work sync.WaitGroup
	for m := range moversEach * 2 {
		work.Add(1)
		go func() {
			defer work.Done()
			random := rand.New(rand.NewSource(int64(m)))
			for range moveTimes {
				k.move(random, m%2 == 0)
			}
		}()
	}
	work.Add(1)
	go func() {
		defer work.Done()
		for range readerTimes {
			version, sum := k.now(), 0
			for i := range accounts {
				sum += k.balance(version, account(i))
			}
			if sum != moneyAll {
				k.Errorf("at %d there is %d, not %d", version, sum, moneyAll)
			}
		}
	}()
	work.Wait()
	end, sum := k.now(), 0
	for i := range accounts {
		sum += k.balance(end, account(i))
	}
	if sum != moneyAll {
		k.Errorf("in the end there is %d, not %d", sum, moneyAll)
	}
}
