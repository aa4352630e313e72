package service

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// codec calls the methods that were generated for each message, which saves gRPC's own codec a detour through reflection.
type codec struct{}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) ([]byte, error) {
	switch m := v.(type) {
	case message:
		return m.Marshal()
	case proto.Message: // gRPC's own services
		return proto.Marshal(m)
	}
	return nil, fmt.Errorf("%T is no message", v)
}

func (codec) Unmarshal(data []byte, v any) error {
	switch m := v.(type) {
	case message:
		return m.Unmarshal(data)
	case proto.Message:
		return proto.Unmarshal(data, m)
	}
	return fmt.Errorf("%T is no message", v)
}
