package service

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/pdpb"

	"stemdb/tests/tikv-stand-in/internal/mvcc"
)

// gcWorker is the service safe point that is always there.
const gcWorker = "gc_worker"

// safePoints are the timestamps garbage is collected up to, and those up to which services allow it.
type safePoints struct {
	mu       sync.Mutex
	gc       uint64
	services map[string]serviceSafePoint
}

type serviceSafePoint struct {
	safePoint uint64
	expires   int64 // seconds
}

func newSafePoints() *safePoints {
	return &safePoints{services: map[string]serviceSafePoint{gcWorker: {0, math.MaxInt64}}}
}

// lowest returns the service that holds garbage collection back most.
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
	p.safePoints.mu.Lock()
	defer p.safePoints.mu.Unlock()
	if r.SafePoint > p.safePoints.gc {
		p.safePoints.gc = r.SafePoint
		p.data.CollectGarbage(mvcc.Range{}, r.SafePoint)
	}
	return &pdpb.UpdateGCSafePointResponse{Header: p.header(), NewSafePoint: p.safePoints.gc}, nil
}

// UpdateServiceGCSafePoint sets or, with a TTL of 0 or less, ends what one service allows. It answers with the lowest of all;
// a service that asks for less than that is not heard.
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
	id, least := s.lowest(now)
	if r.TTL > 0 && r.SafePoint >= least.safePoint {
		expires := int64(math.MaxInt64)
		if r.TTL < math.MaxInt64-now {
			expires = now + r.TTL
		}
		s.services[name] = serviceSafePoint{r.SafePoint, expires}
		id, least = s.lowest(now)
	}
	return &pdpb.UpdateServiceGCSafePointResponse{
		Header: p.header(), ServiceId: []byte(id), TTL: least.expires - now, MinSafePoint: least.safePoint,
	}, nil
}
