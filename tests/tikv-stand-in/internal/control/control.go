// Package control is the HTTP port by which a test injects faults and inspects the cluster. It accepts GET
// and POST, with parameters in the query or form. The response is JSON, or a line of text with status 400
// if the request is invalid.
package control

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"

	"stemdb/tests/tikv-stand-in/internal/clock"
	"stemdb/tests/tikv-stand-in/internal/faults"
	"stemdb/tests/tikv-stand-in/internal/mvcc"
	"stemdb/tests/tikv-stand-in/internal/placement"
	"stemdb/tests/tikv-stand-in/internal/service"
)

// Server is what the port controls.
type Server struct {
	Cluster *placement.Cluster
	Stores  map[uint64]*service.TiKV
	PD      *service.PDGroup
	Data    *mvcc.Store
	Clock   *clock.Clock
	Faults  *faults.Faults
}

// handler runs a command and returns the result to show, nil for none.
type handler func(url.Values) (any, error)

// Handler returns the port's paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, handle := range map[string]handler{
		"/status":            s.status,
		"/regions":           s.regions,
		"/locks":             s.locks,
		"/lose-locks":        s.loseLocks,
		"/counters":          s.counters,
		"/at-once":           s.atOnce,
		"/split":             s.split,
		"/merge":             s.merge,
		"/leader":            s.leader,
		"/move":              s.move,
		"/stop":              s.stop,
		"/start":             s.start,
		"/elect":             s.elect,
		"/slow":              s.slow,
		"/pd/stop":           s.pdStop,
		"/pd/start":          s.pdStart,
		"/pd/leader":         s.pdLeader,
		"/pd/slow":           s.pdSlow,
		"/drop-next":         s.dropNext,
		"/delay-next":        s.delayNext,
		"/region-error-next": s.regionErrorNext,
		"/refuse-next":       s.refuseNext,
		"/clear":             s.clear,
		"/advance":           s.advance,
		"/keyspace":          s.keyspace,
		"/tidb":              s.tidb,
		"/die-async":         s.dieAsync,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { answer(w, r, handle) })
	}
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, handle handler) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	shown, err := handle(r.Form)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if shown == nil {
		shown = map[string]bool{"done": true}
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(shown); err != nil {
		return // the caller is gone
	}
}

// keyOf reads a key: key= as plain text, or hexkey= in hexadecimal.
func keyOf(form url.Values) ([]byte, error) {
	if form.Has("hexkey") {
		return hex.DecodeString(form.Get("hexkey"))
	}
	if !form.Has("key") {
		return nil, errors.New("which key=? (hexkey= takes it in hexadecimal)")
	}
	return []byte(form.Get("key")), nil
}

func number(form url.Values, name string, otherwise uint64) (uint64, error) {
	if !form.Has(name) {
		return otherwise, nil
	}
	return strconv.ParseUint(form.Get(name), 10, 64)
}

func milliseconds(form url.Values) (time.Duration, error) {
	ms, err := number(form, "ms", math.MaxUint64)
	if err != nil || ms > math.MaxInt32 {
		return 0, errors.New("how many ms=?")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// storeOf reads store=, which may be pd for some commands.
func storeOf(form url.Values) (uint64, error) {
	switch name := form.Get("store"); name {
	case "":
		return faults.AnyStore, nil
	case "pd":
		return faults.PD, nil
	default:
		return strconv.ParseUint(name, 10, 64)
	}
}

func (s *Server) clear(url.Values) (any, error) {
	s.Faults.Clear()
	return nil, nil
}

func (s *Server) advance(form url.Values) (any, error) {
	by, err := milliseconds(form)
	if err != nil {
		return nil, err
	}
	s.Clock.Advance(by)
	return nil, nil
}

func (s *Server) keyspace(form url.Values) (any, error) {
	name := form.Get("name")
	if name == "" {
		return nil, errors.New("which name=?")
	}
	return map[string]uint32{"id": s.PD.AddKeyspace(name)}, nil
}

// rule reads rpc=, store= and count= of a fault. It also accepts the names of TiKV's methods.
func (s *Server) rule(form url.Values) (faults.Rule, error) {
	call := strings.TrimPrefix(strings.TrimPrefix(form.Get("rpc"), "Kv"), "KV")
	if call == "" {
		return faults.Rule{}, errors.New("which rpc=? (Get, Prewrite, Commit, Tso, ...)")
	}
	store, err := storeOf(form)
	if err != nil {
		return faults.Rule{}, err
	}
	count, err := number(form, "count", 1)
	if err != nil || count == 0 || count > math.MaxInt32 {
		return faults.Rule{}, errors.New("count= is not a number above 0")
	}
	rule := faults.Rule{Call: call, Store: store, Count: int(count)}
	if form.Has("key") || form.Has("hexkey") {
		if rule.Prefix, err = keyOf(form); err != nil {
			return faults.Rule{}, err
		}
	}
	return rule, nil
}

func (s *Server) dropNext(form url.Values) (any, error) {
	rule, err := s.rule(form)
	if err != nil {
		return nil, err
	}
	switch when := form.Get("when"); when {
	case "", "after":
		rule.DropAfter = true
	case "before":
		rule.DropBefore = true
	default:
		return nil, fmt.Errorf("when=%s is neither before nor after", when)
	}
	if form.Has("ms") {
		if rule.Delay, err = milliseconds(form); err != nil {
			return nil, err
		}
	}
	s.Faults.Add(rule)
	return nil, nil
}

func (s *Server) delayNext(form url.Values) (any, error) {
	rule, err := s.rule(form)
	if err != nil {
		return nil, err
	}
	if rule.Delay, err = milliseconds(form); err != nil {
		return nil, err
	}
	s.Faults.Add(rule)
	return nil, nil
}

func (s *Server) regionErrorNext(form url.Values) (any, error) {
	rule, err := s.rule(form)
	if err != nil {
		return nil, err
	}
	rule.RegionError = form.Get("error")
	var made *errorpb.Error
	if made, err = s.Cluster.InjectedError(rule.RegionError, 0); err != nil || made == nil {
		return nil, err
	}
	s.Faults.Add(rule)
	return nil, nil
}

// refuseNext makes stores refuse to compute.
func (s *Server) refuseNext(form url.Values) (any, error) {
	form.Set("rpc", "Coprocessor")
	rule, err := s.rule(form)
	if err != nil {
		return nil, err
	}
	switch rule.Refusal = form.Get("how"); rule.Refusal {
	case "other", "evaluate", "stuck":
		s.Faults.Add(rule)
		return nil, nil
	}
	return nil, fmt.Errorf("how=%s is neither other, evaluate nor stuck", rule.Refusal)
}
