// Command check reads what is in deploy/ as the programs that it is for would: compose.yaml by the library of Docker
// Compose, the manifests by kustomize and by the resources' own Go types, in which an unknown field is an error (but for
// the operator's, which store.mjs checks). Then it looks whether what they say of each other agrees.
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
