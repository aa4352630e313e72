package mvcc

import (
	"bytes"
	"fmt"
	"sort"
)

type recordKind int

const (
	put recordKind = iota
	tombstone
	lockOnly // committed without a value: the key was locked and not changed
	rollback
)

func (k recordKind) String() string {
	return [...]string{"Put", "Delete", "Lock", "Rollback"}[k]
}

// record is the result of an ended transaction at a key. A rollback has its start timestamp, which prevents
// a prewrite of the same transaction that arrives later. Other records have their commit timestamp.
type record struct {
	kind              recordKind
	startTS, commitTS uint64
	value             []byte
	// alsoRollback: another transaction, whose start timestamp is this record's commit timestamp, was rolled back here.
	alsoRollback bool
}

// newestAtOrBefore returns the position of the newest record with commitTS <= ts, or -1.
func (e *entry) newestAtOrBefore(ts uint64) int {
	return sort.Search(len(e.records), func(i int) bool { return e.records[i].commitTS > ts }) - 1
}

// newest returns the newest record of any kind, nil when there is none.
func (e *entry) newest() *record {
	if e == nil || len(e.records) == 0 {
		return nil
	}
	return &e.records[len(e.records)-1]
}

// dataAt returns the newest put or tombstone with commitTS <= ts, nil when there is none.
func (e *entry) dataAt(ts uint64) *record {
	if e == nil {
		return nil
	}
	for i := e.newestAtOrBefore(ts); i >= 0; i-- {
		if k := e.records[i].kind; k == put || k == tombstone {
			return &e.records[i]
		}
	}
	return nil
}

// valueAt returns the value a snapshot at ts sees, and whether there is one.
func (e *entry) valueAt(ts uint64) ([]byte, bool) {
	if r := e.dataAt(ts); r != nil && r.kind == put {
		return r.value, true
	}
	return nil, false
}

// rolledBack reports whether the transaction that started at startTS was rolled back at this key.
func (e *entry) rolledBack(startTS uint64) bool {
	if e == nil {
		return false
	}
	i := e.newestAtOrBefore(startTS)
	return i >= 0 && e.records[i].commitTS == startTS && (e.records[i].kind == rollback || e.records[i].alsoRollback)
}

// committedBy returns the record with which the transaction of startTS was committed at this key, nil when it was not.
func (e *entry) committedBy(startTS uint64) *record {
	if e == nil {
		return nil
	}
	for i := len(e.records) - 1; i >= 0 && e.records[i].commitTS >= startTS; i-- {
		if r := &e.records[i]; r.startTS == startTS && r.kind != rollback {
			return r
		}
	}
	return nil
}

// add inserts r. A commit and a rollback of another transaction may have the same timestamp; then one
// record holds both.
func (e *entry) add(r record) {
	i := e.newestAtOrBefore(r.commitTS)
	if i < 0 || e.records[i].commitTS != r.commitTS {
		e.records = append(e.records, record{})
		copy(e.records[i+2:], e.records[i+1:])
		e.records[i+1] = r
		return
	}
	old := &e.records[i]
	switch {
	case r.kind == rollback && old.kind == rollback:
	case r.kind == rollback:
		old.alsoRollback = true
	case old.kind == rollback:
		r.alsoRollback = true
		*old = r
	default:
		panic(fmt.Sprintf("key %x: transactions %d and %d both committed at %d", e.key, old.startTS, r.startTS, r.commitTS))
	}
}

// addRollback records that the transaction of startTS was rolled back at this key.
func (e *entry) addRollback(startTS uint64) {
	e.add(record{kind: rollback, startTS: startTS, commitTS: startTS})
}

// exists reports whether the key had a value just before or at r, a record of this entry.
func (e *entry) exists(r *record) bool {
	switch r.kind {
	case put:
		return true
	case tombstone:
		return false
	default:
		_, found := e.valueAt(r.commitTS)
		return found
	}
}

// tidy drops entries that are empty.
func (s *Store) tidy(e *entry) {
	if e.lock == nil && len(e.records) == 0 {
		s.keys.Delete(e)
	}
}

func sameKey(a, b []byte) bool { return bytes.Equal(a, b) }
