package service

import (
	"bytes"
	"fmt"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"

	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

// Requests of API version 2 name keys of a keyspace, which begin with x and the keyspace's id. TiKV refuses
// other keys, and so does this store, which detects a client that forgets the prefix.
//
// A store of TiKV has one API version; this one serves both.
const (
	keyspacePrefix    = 'x'
	keyspacePrefixEnd = 'y'
)

// wrongKey returns the error about the first key of a version 2 request that is in no keyspace, nil when there is none.
func wrongKey(request *kvrpcpb.Context, keys [][]byte) mvcc.KeyError {
	if request.GetApiVersion() != kvrpcpb.APIVersion_V2 {
		return nil
	}
	for _, key := range keys {
		if len(key) == 0 || key[0] != keyspacePrefix {
			return invalidKeyMode(key)
		}
	}
	return nil
}

// wrongRange is wrongKey for a range.
func wrongRange(request *kvrpcpb.Context, keys mvcc.Range) mvcc.KeyError {
	if request.GetApiVersion() != kvrpcpb.APIVersion_V2 {
		return nil
	}
	if len(keys.Start) == 0 || keys.Start[0] != keyspacePrefix {
		return invalidKeyMode(keys.Start)
	}
	if len(keys.End) == 0 || bytes.Compare(keys.End, []byte{keyspacePrefixEnd}) > 0 {
		return invalidKeyMode(keys.End)
	}
	return nil
}

func invalidKeyMode(key []byte) mvcc.KeyError {
	return &kvrpcpb.KeyError{Abort: fmt.Sprintf("Error(InvalidKeyMode { storage_api_version: V2, key: %X })", key)}
}
