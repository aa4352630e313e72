// Package service is the network side: TiKV's, PD's and the keyspaces' gRPC services, each on an address that can go away
// and come back, over the data of package mvcc and the regions of package placement.
//
// Reading order: node.go (one address), tikv.go (a store's calls), batch.go (the stream that carries most of them), pd.go.
package service

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"runtime/debug"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"stemdb/tests/tikv-stand-in/internal/faults"
)

// messageBytesMax bounds one message, as TiKV's clients do.
const messageBytesMax = 256 << 20

// Options are what all nodes of a cluster share.
type Options struct {
	Faults *faults.Faults
	// TLS is nil for plain connections.
	TLS *tls.Config
	// LogCalls logs every call with its answer.
	LogCalls bool
	// OldPD holds garbage collection back as PD up to 8.5 does.
	OldPD bool
}

// node is one address on which services are offered. Stopping it looks from outside like killing the
// process: connections break, and new ones are refused.
type node struct {
	options  Options
	store    uint64 // or faults.PD
	address  string
	register func(*grpc.Server)

	mu          sync.Mutex
	server      *grpc.Server
	connections map[string]net.Conn // by the client's address
	spare       net.Listener        // bound already, not served yet
}

// newNode reserves an address, so that it is known before anything is served on it.
func newNode(options Options, store uint64, address string) (*node, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &node{options: options, store: store, address: l.Addr().String(), spare: l}, nil
}

// start offers the services. It does nothing on a node that runs.
func (n *node) start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil {
		return nil
	}
	l := n.spare
	n.spare = nil
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", n.address); err != nil {
			return err
		}
	}
	options := []grpc.ServerOption{
		grpc.ForceServerCodec(codec{}),
		grpc.MaxRecvMsgSize(messageBytesMax),
		grpc.MaxSendMsgSize(messageBytesMax),
		grpc.UnaryInterceptor(n.intercept),
		grpc.StreamInterceptor(n.interceptStream),
	}
	if n.options.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(n.options.TLS)))
	}
	n.server = grpc.NewServer(options...)
	n.connections = make(map[string]net.Conn)
	healthpb.RegisterHealthServer(n.server, health.NewServer()) // clients ask it whether a store they cannot reach is back
	n.register(n.server)
	server := n.server
	go func() {
		if err := server.Serve(&listener{l, n}); err != nil {
			log.Printf("%s: %v", n.address, err)
		}
	}()
	return nil
}

// stop breaks all connections and refuses new ones. It does nothing on a node that does not run.
func (n *node) stop() {
	n.mu.Lock()
	server := n.server
	n.server = nil
	n.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// cutOff breaks the connection a call came by.
func (n *node) cutOff(ctx context.Context) {
	caller, ok := peer.FromContext(ctx)
	if !ok {
		return
	}
	n.mu.Lock()
	c := n.connections[caller.Addr.String()]
	n.mu.Unlock()
	if c != nil {
		c.Close()
	}
}

// errCutOff is for gRPC only: its connection is gone when it is returned.
var errCutOff = status.Error(codes.Unavailable, "connection broken on request")

// around does a call's work with its faults. An error means that the connection is gone. keys are those that the call
// names.
func (n *node) around(ctx context.Context, call string, keys [][]byte, work func(faults.Rule)) error {
	n.options.Faults.Count(call, 1)
	defer n.options.Faults.Begin(call)()
	fault := n.options.Faults.Take(call, n.store, keys)
	faults.Sleep(ctx, fault.Delay)
	if fault.DropBefore {
		n.cutOff(ctx)
		return errCutOff
	}
	work(fault)
	if fault.DropAfter {
		n.cutOff(ctx)
		return errCutOff
	}
	return nil
}

func (n *node) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (response any, err error) {
	defer n.recover(info.FullMethod, &err)
	response, err = handle(ctx, request)
	if n.options.LogCalls {
		log.Printf("%s %s {%v} -> {%v} %v", n.address, info.FullMethod, request, response, err)
	}
	return response, err
}

func (n *node) interceptStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer n.recover(info.FullMethod, &err)
	return handle(server, stream)
}

// recover turns a panic, which a client's broken promise or a defect here may cause, into that call's
// failure.
func (n *node) recover(method string, err *error) {
	if r := recover(); r != nil {
		log.Printf("%s %s: %v\n%s", n.address, method, r, debug.Stack())
		*err = status.Error(codes.Internal, fmt.Sprint(r))
	}
}

// listener remembers connections by the client's address, so that one can be broken on purpose.
type listener struct {
	net.Listener
	node *node
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.node.mu.Lock()
	defer l.node.mu.Unlock()
	l.node.connections[c.RemoteAddr().String()] = c
	return &connection{c, l.node}, nil
}

type connection struct {
	net.Conn
	node *node
}

func (c *connection) Close() error {
	c.node.mu.Lock()
	delete(c.node.connections, c.RemoteAddr().String())
	c.node.mu.Unlock()
	return c.Conn.Close()
}
