package service

import (
	"context"
	"errors"
	"io"
	"log"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/tikvpb"

	"stemdb/tests/tikv-stand-in/internal/faults"
)

// answersMax is how many answers go into one message at most.
const answersMax = 128

type answer struct {
	id       uint64
	response *tikvpb.BatchCommandsResponse_Response
}

// BatchCommands carries many calls over one stream. Responses come in any order; a message carries all that
// are ready.
//
// Calls that cannot wait run on the goroutine that reads them, which saves a hand-over. The others get
// their own.
func (t *TiKV) BatchCommands(stream tikvpb.Tikv_BatchCommandsServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	answers := make(chan []answer, answersMax)
	var running, sender sync.WaitGroup
	sender.Add(1)
	go func() {
		defer sender.Done()
		sendAnswers(ctx, stream, answers)
		cancel()
	}()
	defer sender.Wait()
	defer cancel()

	deliver := func(batch []answer) {
		select {
		case answers <- batch:
		case <-ctx.Done():
		}
	}
	for {
		message, err := stream.Recv()
		if err != nil || ctx.Err() != nil {
			if errors.Is(err, io.EOF) { // no more calls will come; those under way are still answered
				running.Wait()
				close(answers)
				sender.Wait()
				return nil
			}
			return err
		}
		t.options.Faults.Count("BatchCommands", 1)
		var ready []answer
		for i, request := range message.Requests {
			if i >= len(message.RequestIds) {
				break
			}
			id := message.RequestIds[i]
			if t.mayWait(request) {
				running.Add(1)
				go func() {
					defer running.Done()
					if response := t.guarded(ctx, request); response != nil {
						deliver([]answer{{id, response}})
					}
				}()
			} else if response := t.guarded(ctx, request); response != nil {
				ready = append(ready, answer{id, response})
			}
		}
		if len(ready) > 0 {
			deliver(ready)
		}
	}
}

func sendAnswers(ctx context.Context, stream tikvpb.Tikv_BatchCommandsServer, answers <-chan []answer) {
	for {
		var message tikvpb.BatchCommandsResponse
		add := func(batch []answer) {
			for _, a := range batch {
				message.RequestIds = append(message.RequestIds, a.id)
				message.Responses = append(message.Responses, a.response)
			}
		}
		select {
		case batch, open := <-answers:
			if !open {
				return
			}
			add(batch)
		case <-ctx.Done():
			return
		}
		for more := true; more && len(message.RequestIds) < answersMax; {
			select {
			case batch, open := <-answers:
				add(batch)
				more = open
			default:
				more = false
			}
		}
		if stream.Send(&message) != nil {
			return
		}
	}
}

// mayWait reports whether a call may take long for other reasons than its work.
func (t *TiKV) mayWait(request *tikvpb.BatchCommandsRequest_Request) bool {
	if t.options.Faults.Active() {
		return true
	}
	switch request.Cmd.(type) {
	case *tikvpb.BatchCommandsRequest_Request_Coprocessor, *tikvpb.BatchCommandsRequest_Request_PessimisticLock, *tikvpb.BatchCommandsRequest_Request_Empty:
		return true
	}
	return false
}

// guarded serves one call; nil if the connection is gone, or was broken because the call panicked.
func (t *TiKV) guarded(ctx context.Context, request *tikvpb.BatchCommandsRequest_Request) *tikvpb.BatchCommandsResponse_Response {
	response, err := func() (response *tikvpb.BatchCommandsResponse_Response, err error) {
		defer t.recover("BatchCommands", &err)
		return t.command(ctx, request)
	}()
	if t.options.LogCalls {
		log.Printf("%s batched {%v} -> {%v} %v", t.address, request, response, err)
	}
	if err != nil {
		t.cutOff(ctx)
		return nil
	}
	return response
}

// command serves one call of a batch like a call of its own. A call that TiKV does not know gets an empty
// response, as there.
func (t *TiKV) command(ctx context.Context, request *tikvpb.BatchCommandsRequest_Request) (*tikvpb.BatchCommandsResponse_Response, error) {
	out := &tikvpb.BatchCommandsResponse_Response{}
	var err error
	switch c := request.Cmd.(type) {
	case *tikvpb.BatchCommandsRequest_Request_Get:
		r := &tikvpb.BatchCommandsResponse_Response_Get{}
		r.Get, err = t.KvGet(ctx, c.Get)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_BatchGet:
		r := &tikvpb.BatchCommandsResponse_Response_BatchGet{}
		r.BatchGet, err = t.KvBatchGet(ctx, c.BatchGet)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_Scan:
		r := &tikvpb.BatchCommandsResponse_Response_Scan{}
		r.Scan, err = t.KvScan(ctx, c.Scan)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_Coprocessor:
		r := &tikvpb.BatchCommandsResponse_Response_Coprocessor{}
		r.Coprocessor, err = t.Coprocessor(ctx, c.Coprocessor)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_Prewrite:
		r := &tikvpb.BatchCommandsResponse_Response_Prewrite{}
		r.Prewrite, err = t.KvPrewrite(ctx, c.Prewrite)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_Commit:
		r := &tikvpb.BatchCommandsResponse_Response_Commit{}
		r.Commit, err = t.KvCommit(ctx, c.Commit)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_PessimisticLock:
		r := &tikvpb.BatchCommandsResponse_Response_PessimisticLock{}
		r.PessimisticLock, err = t.KvPessimisticLock(ctx, c.PessimisticLock)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_PessimisticRollback:
		r := &tikvpb.BatchCommandsResponse_Response_PessimisticRollback{}
		r.PessimisticRollback, err = t.KVPessimisticRollback(ctx, c.PessimisticRollback)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_BatchRollback:
		r := &tikvpb.BatchCommandsResponse_Response_BatchRollback{}
		r.BatchRollback, err = t.KvBatchRollback(ctx, c.BatchRollback)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_Cleanup:
		r := &tikvpb.BatchCommandsResponse_Response_Cleanup{}
		r.Cleanup, err = t.KvCleanup(ctx, c.Cleanup)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_TxnHeartBeat:
		r := &tikvpb.BatchCommandsResponse_Response_TxnHeartBeat{}
		r.TxnHeartBeat, err = t.KvTxnHeartBeat(ctx, c.TxnHeartBeat)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_CheckTxnStatus:
		r := &tikvpb.BatchCommandsResponse_Response_CheckTxnStatus{}
		r.CheckTxnStatus, err = t.KvCheckTxnStatus(ctx, c.CheckTxnStatus)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_CheckSecondaryLocks:
		r := &tikvpb.BatchCommandsResponse_Response_CheckSecondaryLocks{}
		r.CheckSecondaryLocks, err = t.KvCheckSecondaryLocks(ctx, c.CheckSecondaryLocks)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_ScanLock:
		r := &tikvpb.BatchCommandsResponse_Response_ScanLock{}
		r.ScanLock, err = t.KvScanLock(ctx, c.ScanLock)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_ResolveLock:
		r := &tikvpb.BatchCommandsResponse_Response_ResolveLock{}
		r.ResolveLock, err = t.KvResolveLock(ctx, c.ResolveLock)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_GC:
		r := &tikvpb.BatchCommandsResponse_Response_GC{}
		r.GC, err = t.KvGC(ctx, c.GC)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_DeleteRange:
		r := &tikvpb.BatchCommandsResponse_Response_DeleteRange{}
		r.DeleteRange, err = t.KvDeleteRange(ctx, c.DeleteRange)
		out.Cmd = r
	case *tikvpb.BatchCommandsRequest_Request_Empty:
		faults.Sleep(ctx, time.Duration(c.Empty.DelayTime)*time.Millisecond)
		out.Cmd = &tikvpb.BatchCommandsResponse_Response_Empty{Empty: &tikvpb.BatchCommandsEmptyResponse{TestId: c.Empty.TestId}}
	}
	return out, err
}
