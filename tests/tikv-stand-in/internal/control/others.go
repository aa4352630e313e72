package control

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// tidb registers or removes a TiDB server, as other clients see it.
func (s *Server) tidb(form url.Values) (any, error) {
	key := "/tidb/server/info/stand-in"
	if name := form.Get("keyspace"); name != "" {
		key = fmt.Sprintf("/keyspaces/tidb/%d%s", s.PD.AddKeyspace(name), key)
	}
	s.PD.SetRegistered(key, !form.Has("gone"))
	return nil, nil
}

// dieAsync leaves the locks of a client that died in the middle of an asynchronous commit: at hexkeys=,
// separated by commas, of which the first is the primary. The keys of absent= were not prewritten. The keys
// of sync= had to fall back to two phases. Each value is the key.
func (s *Server) dieAsync(form url.Values) (any, error) {
	var keys [][]byte
	listed := func(name string) map[string]bool {
		in := make(map[string]bool)
		for _, key := range strings.Split(form.Get(name), ",") {
			in[key] = true
		}
		return in
	}
	absent, sync := listed("absent"), listed("sync")
	names := strings.Split(form.Get("hexkeys"), ",")
	for _, name := range names {
		key, err := hex.DecodeString(name)
		if err != nil || len(key) == 0 {
			return nil, errors.New("which hexkeys=?")
		}
		keys = append(keys, key)
	}
	startTS := s.Clock.Now()
	for i, key := range keys {
		if absent[names[i]] {
			continue
		}
		_, errs := s.Data.Prewrite(&kvrpcpb.PrewriteRequest{
			Mutations:      []*kvrpcpb.Mutation{{Op: kvrpcpb.Op_Put, Key: key, Value: key}},
			PrimaryLock:    keys[0],
			StartVersion:   startTS,
			LockTtl:        8000,
			TxnSize:        1,
			UseAsyncCommit: !sync[names[i]],
			Secondaries:    keys[1:],
		})
		if len(errs) > 0 {
			return nil, fmt.Errorf("%v", errs)
		}
	}
	return map[string]uint64{"start": startTS}, nil
}
