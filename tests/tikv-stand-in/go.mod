module stemdb/tests/tikv-stand-in

go 1.24

require (
	github.com/google/btree v1.1.3
	github.com/pingcap/kvproto v0.0.0-20251202064041-b6fd818387cd
	github.com/pingcap/tipb v0.0.0-20240318032315-55a7867ddd50
	go.etcd.io/etcd/api/v3 v3.5.10
	google.golang.org/grpc v1.59.0
	google.golang.org/protobuf v1.31.0
)

require (
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.3 // indirect
	golang.org/x/net v0.17.0 // indirect
	golang.org/x/sys v0.13.0 // indirect
	golang.org/x/text v0.13.0 // indirect
	google.golang.org/genproto v0.0.0-20231012201019-e917dd12ba7a // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20231002182017-d307bd883b97 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20231016165738-49dd2c1f3d0b // indirect
)
