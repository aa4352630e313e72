package cluster

import (
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
)

// BenchmarkBatchedGet reads one key over and over, 32 calls in a message: what the stand-in costs per call, client included.
func BenchmarkBatchedGet(b *testing.B) {
	const each = 32
	bed := newBed(b)
	bed.write("k")
	client, context := bed.at("k")
	stream, err := client.BatchCommands(bed.ctx)
	if err != nil {
		b.Fatal(err)
	}
	request := &tikvpb.BatchCommandsRequest{}
	for i := range each {
		request.RequestIds = append(request.RequestIds, uint64(i))
		request.Requests = append(request.Requests, &tikvpb.BatchCommandsRequest_Request{Cmd: &tikvpb.BatchCommandsRequest_Request_Get{
			Get: &kvrpcpb.GetRequest{Context: context, Key: []byte("k"), Version: ^uint64(0)},
		}})
	}
	for range b.N/each + 1 {
		if err := stream.Send(request); err != nil {
			b.Fatal(err)
		}
		for answered := 0; answered < each; {
			response, err := stream.Recv()
			if err != nil {
				b.Fatal(err)
			}
			answered += len(response.RequestIds)
		}
	}
}
