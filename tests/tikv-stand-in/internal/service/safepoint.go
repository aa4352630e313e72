package service

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/pdpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

// gcWorker is the service whose safe point is also the transactions': reads below it are refused.
const gcWorker = "gc_worker"

// safePoints are the timestamps garbage is collected up to, up to which it may be, and those at which services hold it back.
type safePoints struct {
	old bool // PD up to 8.5

	mu       sync.Mutex
	gc       uint64
	services map[string]serviceSafePoint
}

type serviceSafePoint struct {
	safePoint uint64
	expires   int64 // seconds
}

func newSafePoints(old bool) *safePoints {
	return &safePoints{old: old, services: map[string]serviceSafePoint{gcWorker: {0, math.MaxInt64}}}
}

// lowest returns the service with the lowest safe point.
func (s *safePoints) lowest(now int64) (id string, least serviceSafePoint) {
	least = serviceSafePoint{safePoint: math.MaxUint64}
	for name, service := range s.services {
		if service.expires <= now {
			delete(s.services, name)
		} else if service.safePoint < least.safePoint || service.safePoint == least.safePoint && name < id {
			id, least = name, service
		}
	}
	return id, least
}

// refused is how PD 9 refuses: the gRPC call fails, with its error's name in the text.
func refused(name, format string, values ...any) error {
	return status.Errorf(codes.Unknown, "[PD:gc:"+name+"]"+format, values...)
}

// ask is UpdateServiceGCSafePoint of PD up to 8.5: it returns the lowest safe point of all, and ignores a
// request for a lower one.
func (s *safePoints) ask(name string, safePoint uint64, expires, now int64) (string, serviceSafePoint) {
	id, least := s.lowest(now)
	if expires > now && safePoint >= least.safePoint {
		s.services[name] = serviceSafePoint{safePoint, expires}
		id, least = s.lowest(now)
	}
	return id, least
}

// advance is PD 9's reply to the collector: as far as the services allow, and never back.
func (s *safePoints) advance(wanted uint64, now int64) (string, serviceSafePoint, error) {
	reached := s.services[gcWorker].safePoint
	if wanted < reached {
		return "", serviceSafePoint{}, refused("ErrDecreasingTxnSafePoint",
			"trying to update txn safe point to a smaller value, current value: %d, given: %d", reached, wanted)
	}
	s.services[gcWorker] = serviceSafePoint{wanted, math.MaxInt64}
	id, least := s.lowest(now)
	least.safePoint = max(least.safePoint, reached)
	s.services[gcWorker] = serviceSafePoint{least.safePoint, math.MaxInt64}
	return id, least, nil
}

// hold is PD 9's reply to the other services: it returns the collector's safe point, and ignores a request
// for a lower one.
func (s *safePoints) hold(name string, safePoint uint64, expires, now int64) (string, serviceSafePoint) {
	reached := s.services[gcWorker]
	if expires > now && safePoint >= reached.safePoint {
		s.services[name] = serviceSafePoint{safePoint, expires}
	}
	return gcWorker, reached
}

func (p *PD) GetGCSafePoint(ctx context.Context, r *pdpb.GetGCSafePointRequest) (*pdpb.GetGCSafePointResponse, error) {
	err := p.admit(ctx, "GetGCSafePoint", r.Header)
	p.safePoints.mu.Lock()
	defer p.safePoints.mu.Unlock()
	return &pdpb.GetGCSafePointResponse{Header: p.header(), SafePoint: p.safePoints.gc}, err
}

// UpdateGCSafePoint moves the safe point, which never goes back. The stores collect garbage up to it at once, rather than
// when they next ask for it.
func (p *PD) UpdateGCSafePoint(ctx context.Context, r *pdpb.UpdateGCSafePointRequest) (*pdpb.UpdateGCSafePointResponse, error) {
	if err := p.admit(ctx, "UpdateGCSafePoint", r.Header); err != nil {
		return nil, err
	}
	s := p.safePoints
	s.mu.Lock()
	defer s.mu.Unlock()
	if allowed := s.services[gcWorker].safePoint; !s.old && r.SafePoint > allowed {
		return nil, refused("ErrGCSafePointExceedsTxnSafePoint", "old GC safe point: %d, target: %d, txn safe point: %d",
			s.gc, r.SafePoint, allowed)
	}
	if r.SafePoint > s.gc {
		s.gc = r.SafePoint
		p.data.CollectGarbage(mvcc.Range{}, r.SafePoint)
	}
	return &pdpb.UpdateGCSafePointResponse{Header: p.header(), NewSafePoint: s.gc}, nil
}

// UpdateServiceGCSafePoint sets or, with a TTL of 0 or less, ends what one service allows.
func (p *PD) UpdateServiceGCSafePoint(ctx context.Context, r *pdpb.UpdateServiceGCSafePointRequest) (*pdpb.UpdateServiceGCSafePointResponse, error) {
	if err := p.admit(ctx, "UpdateServiceGCSafePoint", r.Header); err != nil {
		return nil, err
	}
	s := p.safePoints
	s.mu.Lock()
	defer s.mu.Unlock()
	name, now := string(r.ServiceId), time.Now().Unix()
	if name == gcWorker && r.TTL != math.MaxInt64 {
		message := "TTL of gc_worker's service safe point must be infinity"
		return &pdpb.UpdateServiceGCSafePointResponse{Header: p.failed(pdpb.ErrorType_UNKNOWN, message)}, nil
	}
	if r.TTL <= 0 {
		delete(s.services, name)
	}
	expires := int64(math.MaxInt64)
	if r.TTL < math.MaxInt64-now {
		expires = now + r.TTL
	}
	var id string
	var least serviceSafePoint
	var err error
	switch {
	case s.old:
		id, least = s.ask(name, r.SafePoint, expires, now)
	case name == gcWorker:
		id, least, err = s.advance(r.SafePoint, now)
	default:
		id, least = s.hold(name, r.SafePoint, expires, now)
	}
	if err != nil {
		return nil, err
	}
	return &pdpb.UpdateServiceGCSafePointResponse{
		Header: p.header(), ServiceId: []byte(id), TTL: least.expires - now, MinSafePoint: least.safePoint,
	}, nil
}
