package control

import (
	"errors"
	"fmt"
	"net/url"

	"stemdb/tests/tikv-stand-in/internal/faults"
	"stemdb/tests/tikv-stand-in/internal/placement"
	"stemdb/tests/tikv-stand-in/internal/service"
)

func (s *Server) split(form url.Values) (any, error) {
	key, err := keyOf(form)
	if err != nil {
		return nil, err
	}
	return shownRegion(s.Cluster.Split(key))
}

func (s *Server) merge(form url.Values) (any, error) {
	key, err := keyOf(form)
	if err != nil {
		return nil, err
	}
	return shownRegion(s.Cluster.Merge(key))
}

func (s *Server) leader(form url.Values) (any, error) {
	key, err := keyOf(form)
	if err != nil {
		return nil, err
	}
	store, err := storeOf(form)
	if err != nil {
		return nil, err
	}
	return shownRegion(s.Cluster.MoveLeader(key, store))
}

func (s *Server) move(form url.Values) (any, error) {
	key, err := keyOf(form)
	if err != nil {
		return nil, err
	}
	from, err := number(form, "from", 0)
	if err != nil {
		return nil, err
	}
	to, err := number(form, "to", 0)
	if err != nil {
		return nil, err
	}
	return shownRegion(s.Cluster.MovePeer(key, from, to))
}

func (s *Server) storeNamed(form url.Values) (uint64, *service.TiKV, error) {
	id, err := storeOf(form)
	if err != nil {
		return 0, nil, err
	}
	store := s.Stores[id]
	if store == nil {
		return 0, nil, fmt.Errorf("store=%s is none of the %d stores", form.Get("store"), len(s.Stores))
	}
	return id, store, nil
}

// stop kills a store. Its regions elect other leaders at once, unless leaders=stay or leaders=none.
func (s *Server) stop(form url.Values) (any, error) {
	id, store, err := s.storeNamed(form)
	if err != nil {
		return nil, err
	}
	aftermath := placement.Elect
	switch leaders := form.Get("leaders"); leaders {
	case "", "elect":
	case "stay":
		aftermath = placement.Stay
	case "none":
		aftermath = placement.Leaderless
	default:
		return nil, fmt.Errorf("leaders=%s is none of elect, stay, none", leaders)
	}
	store.Stop()
	return nil, s.Cluster.SetUp(id, false, aftermath)
}

func (s *Server) elect(url.Values) (any, error) {
	s.Cluster.Elect()
	return nil, nil
}

func (s *Server) start(form url.Values) (any, error) {
	id, store, err := s.storeNamed(form)
	if err != nil {
		return nil, err
	}
	if err := store.Start(); err != nil {
		return nil, err
	}
	return nil, s.Cluster.SetUp(id, true, placement.Elect)
}

func (s *Server) slow(form url.Values) (any, error) {
	id, _, err := s.storeNamed(form)
	if err != nil {
		return nil, err
	}
	by, err := milliseconds(form)
	if err != nil {
		return nil, err
	}
	s.Faults.Slow(id, by)
	return nil, nil
}

// members reads member= of a command about PD; all members if it is not given.
func (s *Server) members(form url.Values) ([]int, error) {
	if form.Has("member") {
		index, err := number(form, "member", 0)
		return []int{int(index)}, err
	}
	var all []int
	for i := range s.PD.Addresses() {
		all = append(all, i)
	}
	return all, nil
}

func (s *Server) pdStop(form url.Values) (any, error) {
	return s.eachMember(form, s.PD.Stop)
}

func (s *Server) pdStart(form url.Values) (any, error) {
	return s.eachMember(form, s.PD.Start)
}

func (s *Server) pdLeader(form url.Values) (any, error) {
	if !form.Has("member") {
		return nil, errors.New("which member=?")
	}
	return s.eachMember(form, s.PD.Lead)
}

func (s *Server) eachMember(form url.Values, do func(int) error) (any, error) {
	members, err := s.members(form)
	if err != nil {
		return nil, err
	}
	for _, index := range members {
		if err := do(index); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (s *Server) pdSlow(form url.Values) (any, error) {
	by, err := milliseconds(form)
	if err != nil {
		return nil, err
	}
	s.Faults.Slow(faults.PD, by)
	return nil, nil
}

func shownRegion(region placement.Region, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return describe(region), nil
}
