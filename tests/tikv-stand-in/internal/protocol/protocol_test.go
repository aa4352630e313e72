// Package protocol only has a test: the messages that crates/kv-tikv and crates/coprocessor define by hand match those of
// kvproto, tipb and etcd.
package protocol

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	// They register their descriptors.
	_ "github.com/pingcap/kvproto/pkg/coprocessor"
	_ "github.com/pingcap/kvproto/pkg/keyspacepb"
	_ "github.com/pingcap/kvproto/pkg/kvrpcpb"
	_ "github.com/pingcap/kvproto/pkg/pdpb"
	_ "github.com/pingcap/kvproto/pkg/tikvpb"
	_ "github.com/pingcap/tipb/go-tipb"
	_ "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const (
	source = "../../../../crates/kv-tikv/src"
	// What stores compute is defined beside what is sent down to them.
	tipb = "../../../../crates/coprocessor/src/tipb.rs"
)

// constants are the enumeration values that the client names. New ones must be added here.
var constants = map[string]string{
	"kvrpcpb/op::PUT":                                  "kvrpcpb.Put",
	"kvrpcpb/op::DELETE":                               "kvrpcpb.Del",
	"kvrpcpb/op::LOCK":                                 "kvrpcpb.Lock",
	"kvrpcpb/op::INSERT":                               "kvrpcpb.Insert",
	"kvrpcpb/op::PESSIMISTIC_LOCK":                     "kvrpcpb.PessimisticLock",
	"kvrpcpb/pessimistic_action::DO_PESSIMISTIC_CHECK": "kvrpcpb.PrewriteRequest.DO_PESSIMISTIC_CHECK",
	"kvrpcpb/action::MIN_COMMIT_TS_PUSHED":             "kvrpcpb.MinCommitTSPushed",
	"kvrpcpb/API_V2":                                   "kvrpcpb.V2",
	"kvrpcpb/SELF_ROLLED_BACK":                         "kvrpcpb.WriteConflict.SelfRolledBack",
	"metapb/ROLE_LEARNER":                              "metapb.Learner",
	"metapb/STATE_TOMBSTONE":                           "metapb.Tombstone",
	"pdpb/ENTRY_NOT_FOUND":                             "pdpb.ENTRY_NOT_FOUND",
	"pdpb/REGION_NOT_FOUND":                            "pdpb.REGION_NOT_FOUND",
	"pdpb/OPERATOR_RUNNING":                            "pdpb.RUNNING",
}

// kinds are the types of our definitions. An enumeration is a 32-bit integer to us.
var kinds = map[string][]protoreflect.Kind{
	"bool":    {protoreflect.BoolKind},
	"int32":   {protoreflect.Int32Kind, protoreflect.EnumKind},
	"int64":   {protoreflect.Int64Kind},
	"uint32":  {protoreflect.Uint32Kind},
	"uint64":  {protoreflect.Uint64Kind},
	"string":  {protoreflect.StringKind},
	"bytes":   {protoreflect.BytesKind},
	"message": {protoreflect.MessageKind},
}

var (
	structs    = regexp.MustCompile(`(?s)prost::Message\)\]\npub struct (\w+) \{(.*?)\}\n`)
	fields     = regexp.MustCompile(`#\[prost\((\w+)(?: = "\w+")?(, optional|, repeated)?(?:, packed = "false")?, tag = "(\d+)"\)\]\s*pub (?:r#)?(\w+): ([^\n]*),\n`)
	modules    = regexp.MustCompile(`(?s)pub mod (\w+) \{\n(.*?)\n\}`)
	values     = regexp.MustCompile(`pub const (\w+): i32 = (\d+);`)
	commands   = regexp.MustCompile(`(?m)^    (\d+) (\w+Request) (\w+Response),$`)
	pdRequests = regexp.MustCompile(`(?m)^    (\w+) (\w+) "/([\w.]+)/(\w+)",$`)
	paths      = regexp.MustCompile(`"/(\w+\.\w+)/(\w+)"`)
)

// read returns a file's text without comments.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^\s*//.*\n`).ReplaceAllString(string(text), "")
}

// modulesOf returns our files of definitions by the name of their package.
func modulesOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(source + "/proto/*.rs")
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions", err)
	}
	texts := map[string]string{"tipb": read(t, tipb)}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".rs"); name != "mod" {
			texts[name] = read(t, file)
		}
	}
	return texts
}

// publicName returns the public name of a message, where Rust spells abbreviations differently.
func publicName(name string) protoreflect.Name {
	return protoreflect.Name(strings.NewReplacer("GcSafePoint", "GCSafePoint", "DagRequest", "DAGRequest").Replace(name))
}

func message(t *testing.T, module, name string) protoreflect.MessageDescriptor {
	t.Helper()
	full := protoreflect.FullName(module).Append(publicName(name))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(full)
	if err != nil {
		t.Errorf("%s: %v", full, err)
		return nil
	}
	return found.(protoreflect.MessageDescriptor)
}

func TestMessages(t *testing.T) {
	for module, text := range modulesOf(t) {
		compared := 0
		for _, found := range structs.FindAllStringSubmatch(text, -1) {
			if module == "errorpb" && found[1] == "Present" {
				continue // stands for messages of which nothing is read
			}
			public := message(t, module, found[1])
			for _, field := range fields.FindAllStringSubmatch(found[2], -1) {
				compared++
				if public != nil {
					compare(t, module, public, field[1:])
				}
			}
		}
		if written := strings.Count(text, "#[prost("); written != compared {
			t.Errorf("%s: %d fields, %d compared", module, written, compared)
		}
	}
}

// compare compares one of our fields: its type, how often it comes, its number, its name and its type in Rust.
func compare(t *testing.T, module string, public protoreflect.MessageDescriptor, field []string) {
	t.Helper()
	kind, often, name, rust := field[0], strings.TrimPrefix(field[1], ", "), field[3], field[4]
	number, err := strconv.Atoi(field[2])
	if err != nil {
		t.Fatal(err)
	}
	found := public.Fields().ByNumber(protoreflect.FieldNumber(number))
	if found == nil {
		t.Errorf("%s has no field %d (%s)", public.FullName(), number, name)
		return
	}
	if alike := strings.NewReplacer("_", ""); !strings.EqualFold(alike.Replace(string(found.Name())), alike.Replace(name)) {
		t.Errorf("%s: field %d is %s, not %s", public.FullName(), number, found.Name(), name)
	}
	if found.IsList() != (often == "repeated") {
		t.Errorf("%s: %s", found.FullName(), often)
	}
	// Commands of the batch stream come encoded: the same on the wire.
	if module == "tikvpb" && kind == "bytes" && found.Kind() == protoreflect.MessageKind {
		return
	}
	fits := false
	for _, other := range kinds[kind] {
		fits = fits || other == found.Kind()
	}
	if !fits {
		t.Errorf("%s is %s, not %s", found.FullName(), found.Kind(), kind)
		return
	}
	if kind == "message" {
		compareMessages(t, module, found, rust)
	}
}

func compareMessages(t *testing.T, module string, field protoreflect.FieldDescriptor, rust string) {
	t.Helper()
	inner := rust[strings.Index(rust, "<")+1 : strings.LastIndex(rust, ">")]
	if of, name, qualified := strings.Cut(inner, "::"); qualified {
		module, inner = of, name
	} else if inner == "RegionEpoch" || inner == "Peer" || module == "errorpb" && inner == "Region" {
		module = "metapb"
	} else if module == "keyspacepb" && strings.HasSuffix(inner, "Header") {
		module = "pdpb"
	} else if inner == "KeyValue" {
		module = "mvccpb"
	}
	if inner == "Present" {
		return
	}
	if full := protoreflect.FullName(module).Append(publicName(inner)); field.Message().FullName() != full {
		t.Errorf("%s is a %s, not a %s", field.FullName(), field.Message().FullName(), full)
	}
}

func TestConstants(t *testing.T) {
	seen := 0
	check := func(name, value string) {
		seen++
		public, known := constants[name]
		if !known {
			t.Errorf("%s: compared with nothing", name)
			return
		}
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(public))
		if err != nil {
			t.Errorf("%s: %v", public, err)
			return
		}
		if is := found.(protoreflect.EnumValueDescriptor).Number(); strconv.Itoa(int(is)) != value {
			t.Errorf("%s is %d, not %s", public, is, value)
		}
	}
	for module, text := range modulesOf(t) {
		if module == "tipb" {
			continue // TestTipbConstants
		}
		for _, inner := range modules.FindAllStringSubmatch(text, -1) {
			for _, value := range values.FindAllStringSubmatch(inner[2], -1) {
				check(module+"/"+inner[1]+"::"+value[1], value[2])
			}
		}
		for _, value := range values.FindAllStringSubmatch(modules.ReplaceAllString(text, ""), -1) {
			check(module+"/"+value[1], value[2])
		}
	}
	if seen != len(constants) {
		t.Errorf("%d constants, %d are known here", seen, len(constants))
	}
}

// A module of constants has the name of its enumeration, and each of them that of its value.
func TestTipbConstants(t *testing.T) {
	alike := strings.NewReplacer("_", "")
	enums := map[string]protoreflect.FullName{
		"exec_type": "tipb.ExecType", "expr_type": "tipb.ExprType",
		"scalar_func_sig": "tipb.ScalarFuncSig", "encode_type": "tipb.EncodeType",
	}
	seen := 0
	for _, inner := range modules.FindAllStringSubmatch(read(t, tipb), -1) {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(enums[inner[1]])
		if err != nil {
			t.Errorf("%s: %v", inner[1], err)
			continue
		}
		for _, value := range values.FindAllStringSubmatch(inner[2], -1) {
			seen++
			number, err := strconv.Atoi(value[2])
			if err != nil {
				t.Fatal(err)
			}
			public := found.(protoreflect.EnumDescriptor).Values().ByNumber(protoreflect.EnumNumber(number))
			if public == nil {
				t.Errorf("%s has no %d (%s)", inner[1], number, value[1])
				continue
			}
			if name := strings.TrimPrefix(string(public.Name()), "Type"); !strings.EqualFold(name, alike.Replace(value[1])) {
				t.Errorf("%s: %d is %s, not %s", inner[1], number, name, value[1])
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d constants", seen)
	}
}

func TestCoprocessorInTheBatchStream(t *testing.T) {
	text := read(t, source+"/command.rs")
	found := regexp.MustCompile(`for coprocessor::Request \{\s+const TAG: u32 = (\d+);`).FindStringSubmatch(text)
	if found == nil {
		t.Fatal("no number")
	}
	number, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string]protoreflect.FullName{
		"BatchCommandsRequest.Request": "coprocessor.Request", "BatchCommandsResponse.Response": "coprocessor.Response",
	} {
		field := message(t, "tikvpb", of).Fields().ByNumber(protoreflect.FieldNumber(number))
		if field == nil || field.Message() == nil || field.Message().FullName() != want {
			t.Errorf("%d is %v in %s, not %s", number, field, of, want)
		}
	}
}

// A command's number in the batch stream identifies it.
func TestCommandsOfTheBatchStream(t *testing.T) {
	found := commands.FindAllStringSubmatch(read(t, source+"/command.rs"), -1)
	if len(found) < 10 {
		t.Fatalf("%d commands", len(found))
	}
	for _, command := range found {
		number, err := strconv.Atoi(command[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range [][2]string{{"BatchCommandsRequest.Request", command[2]}, {"BatchCommandsResponse.Response", command[3]}} {
			field := message(t, "tikvpb", of[0]).Fields().ByNumber(protoreflect.FieldNumber(number))
			want := protoreflect.FullName("kvrpcpb").Append(protoreflect.Name(of[1]))
			if field == nil || field.Message() == nil || field.Message().FullName() != want {
				t.Errorf("%d is %v in %s, not %s", number, field, of[0], want)
			}
		}
	}
}

func method(t *testing.T, service, name string) protoreflect.MethodDescriptor {
	t.Helper()
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		t.Errorf("%s: %v", service, err)
		return nil
	}
	public := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name))
	if public == nil {
		t.Errorf("%s has no %s", service, name)
	}
	return public
}

func TestMethods(t *testing.T) {
	text := read(t, source+"/pd/client.rs")
	typed := pdRequests.FindAllStringSubmatch(text, -1)
	if len(typed) < 10 {
		t.Fatalf("%d requests", len(typed))
	}
	for _, request := range typed {
		public := method(t, request[3], request[4])
		if public == nil {
			continue
		}
		if public.Input().Name() != publicName(request[1]) || public.Output().Name() != publicName(request[2]) {
			t.Errorf("%s takes %s and gives %s, not %s and %s", public.FullName(), public.Input().Name(), public.Output().Name(), request[1], request[2])
		}
	}
	seen := 0
	err := filepath.WalkDir(source, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".rs") {
			return err
		}
		for _, found := range paths.FindAllStringSubmatch(read(t, path), -1) {
			seen++
			method(t, found[1], found[2])
		}
		return nil
	})
	if err != nil || seen < len(typed)+5 {
		t.Errorf("%d methods, %v", seen, err)
	}
}
