package mvcc

import (
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// Prewritten is what a prewrite without errors did.
type Prewritten struct {
	// MinCommitTS is the asynchronous commit's timestamp so far; 0 when the client has to commit in two phases.
	MinCommitTS uint64
	// OnePhaseCommitTS is not 0 when the transaction is committed already.
	OnePhaseCommitTS uint64
}

// prewrite is one Prewrite request under way.
type prewrite struct {
	*kvrpcpb.PrewriteRequest
	store *Store
	// chooses: the store chooses the commit timestamp (one-phase or asynchronous commit). It is turned off when that
	// timestamp would be above the client's limit, which makes it a prewrite of two phases.
	chooses     bool
	onePhase    bool
	minCommitTS uint64
	pending     []pendingLock
	// committedAt is not 0 when this is a repetition of a request that committed everything.
	committedAt uint64
}

type pendingLock struct {
	key  []byte
	lock *lock
}

// Prewrite is the first phase of a commit: it checks every mutation and, if none fails, locks their keys
// with the new values. With try_one_pc it commits at once.
//
// In a pessimistic transaction (for_update_ts above 0) a key that is locked is not checked for conflicts
// again: its lock prevented them. A missing pessimistic lock is restored if nothing was committed
// meanwhile.
func (s *Store) Prewrite(request *kvrpcpb.PrewriteRequest) (Prewritten, []KeyError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &prewrite{
		PrewriteRequest: request, store: s,
		chooses: request.UseAsyncCommit || request.TryOnePc, onePhase: request.TryOnePc,
	}

	var locked []KeyError
	for i, mutation := range request.Mutations {
		err := p.check(i, mutation)
		switch {
		case err == nil:
		case err.Locked != nil:
			locked = append(locked, err) // all of them, so that the client can resolve them together
		case p.repeatsCommit(mutation.Key, err):
		default:
			return Prewritten{}, []KeyError{err}
		}
	}
	if p.committedAt != 0 {
		return p.repeated(), nil
	}
	if len(locked) > 0 {
		return Prewritten{}, locked
	}
	return p.apply(), nil
}

// check decides about one mutation and adds the lock it gets to the pending ones.
func (p *prewrite) check(i int, mutation *kvrpcpb.Mutation) KeyError {
	key, e := mutation.Key, p.store.find(mutation.Key)
	if p.ForUpdateTs > 0 && mutation.Op == kvrpcpb.Op_CheckNotExists {
		return aborted("Other(cannot handle checkNotExists in pessimistic prewrite)")
	}
	action := kvrpcpb.PrewriteRequest_SKIP_PESSIMISTIC_CHECK
	if i < len(p.PessimisticActions) {
		action = p.PessimisticActions[i]
	}
	mustBeAbsent := mutation.Op == kvrpcpb.Op_Insert || mutation.Op == kvrpcpb.Op_CheckNotExists
	if mustBeAbsent {
		p.store.raiseMaxTS(p.StartVersion) // a read: no later commit of this key may have a smaller timestamp
	}

	var held *lock
	amended := false
	switch {
	case e != nil && e.lock != nil:
		done, err := p.checkLock(i, e.lock, key, action)
		if err != nil || done {
			return err
		}
		held = e.lock
	case action == kvrpcpb.PrewriteRequest_DO_PESSIMISTIC_CHECK:
		if newest := e.newest(); newest != nil && newest.commitTS >= p.StartVersion {
			return pessimisticLockNotFound(p.StartVersion, key, "LockMissingAmendFail")
		}
		amended = true
	}

	constraints := p.needsConstraintCheck(action)
	if constraints {
		if err := p.checkConstraints(e, mutation, action, mustBeAbsent); err != nil {
			return err
		}
	}
	if !amended {
		if err := p.checkAssertion(e, mutation, constraints); err != nil {
			return err
		}
	}
	if mutation.Op == kvrpcpb.Op_CheckNotExists {
		return nil
	}
	p.pending = append(p.pending, pendingLock{key, p.newLock(mutation, held)})
	return nil
}

// checkLock decides what a lock that is there already means. It returns done when nothing is left to do for the key.
func (p *prewrite) checkLock(i int, held *lock, key []byte, action kvrpcpb.PrewriteRequest_PessimisticAction) (done bool, err KeyError) {
	switch {
	case held.startTS != p.StartVersion && action == kvrpcpb.PrewriteRequest_DO_PESSIMISTIC_CHECK:
		return false, pessimisticLockNotFound(p.StartVersion, key, "LockTsMismatch")
	case held.startTS != p.StartVersion && p.ForUpdateTs > 0:
		// The pessimistic locks keep conflicts out, so that this one is over or about to be: do not wait, resolve it.
		err := keyIsLocked(key, held)
		err.Locked.LockTtl = 0
		return false, err
	case held.startTS != p.StartVersion:
		return false, keyIsLocked(key, held)
	case !held.pessimistic():
		// The same request again. The first answer stands.
		p.onePhase = false
		p.minCommitTS = max(p.minCommitTS, held.minCommitTS)
		p.chooses = p.chooses && held.asyncCommit
		return true, nil
	case p.ForUpdateTs == 0:
		return false, lockTypeNotMatch(p.StartVersion, key, true)
	}
	for _, constraint := range p.ForUpdateTsConstraints {
		if int(constraint.Index) == i && held.forUpdateTS != constraint.ExpectedForUpdateTs {
			return false, pessimisticLockNotFound(p.StartVersion, key, "LockForUpdateTsMismatch")
		}
	}
	return false, nil
}

func (p *prewrite) needsConstraintCheck(action kvrpcpb.PrewriteRequest_PessimisticAction) bool {
	if p.ForUpdateTs == 0 {
		return !p.SkipConstraintCheck
	}
	switch action {
	case kvrpcpb.PrewriteRequest_DO_CONSTRAINT_CHECK:
		return true
	case kvrpcpb.PrewriteRequest_SKIP_PESSIMISTIC_CHECK:
		return p.Context.GetIsRetryRequest() // the first attempt may have been committed or rolled back since
	default:
		return false
	}
}

// checkConstraints looks for versions the transaction did not see and, where the key has to be absent, for any value.
func (p *prewrite) checkConstraints(e *entry, mutation *kvrpcpb.Mutation, action kvrpcpb.PrewriteRequest_PessimisticAction, mustBeAbsent bool) KeyError {
	newest := e.newest()
	if newest == nil {
		return nil
	}
	conflict := func(reason kvrpcpb.WriteConflict_Reason) KeyError {
		return writeConflict(p.StartVersion, newest.startTS, newest.commitTS, mutation.Key, p.PrimaryLock, reason)
	}
	if newest.commitTS == p.StartVersion && (newest.kind == rollback || newest.alsoRollback) {
		return conflict(kvrpcpb.WriteConflict_SelfRolledBack)
	}
	if newest.commitTS > p.StartVersion {
		switch {
		case p.ForUpdateTs == 0:
			return conflict(kvrpcpb.WriteConflict_Optimistic)
		case action == kvrpcpb.PrewriteRequest_DO_CONSTRAINT_CHECK:
			return conflict(kvrpcpb.WriteConflict_LazyUniquenessCheck)
		case newest.commitTS > p.ForUpdateTs:
			return pessimisticLockNotFound(p.StartVersion, mutation.Key, "NonLockKeyConflict")
		}
	}
	if mustBeAbsent && e.exists(newest) {
		return alreadyExists(mutation.Key)
	}
	return nil
}

func (p *prewrite) checkAssertion(e *entry, mutation *kvrpcpb.Mutation, loaded bool) KeyError {
	if mutation.Assertion == kvrpcpb.Assertion_None || p.AssertionLevel == kvrpcpb.AssertionLevel_Off {
		return nil
	}
	if p.AssertionLevel == kvrpcpb.AssertionLevel_Fast && !loaded {
		return nil
	}
	var existing record
	found := false
	if r := e.dataAt(MaxVersion); r != nil && r.kind == put {
		existing, found = *r, true
	}
	if found == (mutation.Assertion == kvrpcpb.Assertion_Exist) {
		return nil
	}
	return &kvrpcpb.KeyError{AssertionFailed: &kvrpcpb.AssertionFailed{
		StartTs: p.StartVersion, Key: mutation.Key, Assertion: mutation.Assertion,
		ExistingStartTs: existing.startTS, ExistingCommitTs: existing.commitTS,
	}}
}

// newLock makes the lock a mutation gets; held is the transaction's pessimistic lock it takes the place of.
func (p *prewrite) newLock(mutation *kvrpcpb.Mutation, held *lock) *lock {
	l := &lock{
		op:          mutation.Op,
		primary:     p.PrimaryLock,
		startTS:     p.StartVersion,
		forUpdateTS: p.ForUpdateTs,
		minCommitTS: p.MinCommitTs,
		ttl:         p.LockTtl,
		txnSize:     p.TxnSize,
		value:       mutation.Value,
	}
	if mutation.Op == kvrpcpb.Op_Insert {
		l.op = kvrpcpb.Op_Put
	}
	if held != nil { // heartbeats and readers may have pushed them
		l.ttl = max(l.ttl, held.ttl)
		l.minCommitTS = max(l.minCommitTS, held.minCommitTS)
	}
	if p.chooses {
		chosen := max(l.minCommitTS, p.store.MaxTS()+1, p.StartVersion+1, p.ForUpdateTs+1)
		if p.MaxCommitTs > 0 && chosen > p.MaxCommitTs {
			p.chooses = false
		} else {
			p.minCommitTS = max(p.minCommitTS, chosen)
		}
	}
	return l
}

// repeatsCommit reports whether err only says that this transaction has already committed the key, which
// happens when a request is repeated after its response was lost.
func (p *prewrite) repeatsCommit(key []byte, err KeyError) bool {
	if !p.UseAsyncCommit && !p.TryOnePc || err.Conflict == nil && err.Abort == "" {
		return false
	}
	if r := p.store.find(key).committedBy(p.StartVersion); r != nil {
		p.committedAt = r.commitTS
		return true
	}
	return false
}

func (p *prewrite) repeated() Prewritten {
	if p.TryOnePc {
		return Prewritten{OnePhaseCommitTS: p.committedAt}
	}
	return Prewritten{MinCommitTS: p.committedAt}
}

// apply writes the pending locks, or in one phase the values themselves.
func (p *prewrite) apply() Prewritten {
	onePhase := p.chooses && p.onePhase
	async := p.chooses && p.UseAsyncCommit && !onePhase
	for _, pending := range p.pending {
		l := pending.lock
		if async {
			l.asyncCommit, l.minCommitTS = true, max(l.minCommitTS, p.minCommitTS)
			if sameKey(pending.key, p.PrimaryLock) {
				l.secondaries = p.Secondaries
			}
		}
		p.store.setLock(pending.key, l)
		if onePhase {
			p.store.commitLock(p.store.find(pending.key), p.minCommitTS)
		}
	}
	switch {
	case onePhase:
		return Prewritten{OnePhaseCommitTS: p.minCommitTS}
	case async:
		return Prewritten{MinCommitTS: p.minCommitTS}
	}
	return Prewritten{}
}
