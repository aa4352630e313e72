// Command check reads the files of deploy/ as the programs that use them do: compose.yaml with the library of Docker Compose,
// the manifests with kustomize and the resources' Go types, where an unknown field is an error (store.mjs checks the operator's
// resource). Then it checks that the files agree with each other.
//
//	go run . ..        run in deploy/check
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check DEPLOY")
		os.Exit(2)
	}
	root := os.Args[1]
	checks := []struct {
		what string
		run  func(root string) error
	}{
		{"compose/compose.yaml", checkCompose},
		{"kubernetes", checkKubernetes},
	}
	failed := false
	for _, check := range checks {
		if err := check.run(root); err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Join(root, check.what), err)
		}
	}
	if failed {
		os.Exit(1)
	}
}
