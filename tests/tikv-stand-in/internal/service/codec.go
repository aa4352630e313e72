package service

import "fmt"

// codec calls the methods that were generated for each message, which saves gRPC's own codec a detour through reflection.
type codec struct{}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) ([]byte, error) {
	m, ok := v.(message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return m.Marshal()
}

func (codec) Unmarshal(data []byte, v any) error {
	m, ok := v.(message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	return m.Unmarshal(data)
}
