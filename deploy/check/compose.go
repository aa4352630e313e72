package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// checkCompose validates the file with the Compose specification's own library: schema, variables, and references to names.
// The library does not know other files, so checkCompose checks that they exist.
func checkCompose(root string) error {
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "compose", "compose.yaml")})
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	drain, err := drainTime(filepath.Join(root, "compose", "stemdb.toml"))
	if err != nil {
		return err
	}
	balancer, err := os.ReadFile(filepath.Join(root, "haproxy.cfg"))
	if err != nil {
		return err
	}
	var problems []error
	for name, service := range project.Services {
		problems = append(problems, mountedFiles(name, service)...)
		if service.Build != nil {
			problems = append(problems, buildTarget(name, service.Build))
		}
		if !strings.HasPrefix(name, "sql-") {
			continue
		}
		if grace := service.StopGracePeriod; grace == nil || time.Duration(*grace) < drain+afterDrain {
			problems = append(problems, fmt.Errorf("%s: stop_grace_period is shorter than draining takes", name))
		}
		if !strings.Contains(string(balancer), fmt.Sprintf("server %s %s:4000", name, name)) {
			problems = append(problems, fmt.Errorf("%s is not in haproxy.cfg", name))
		}
	}
	return errors.Join(problems...)
}

func mountedFiles(name string, service types.ServiceConfig) []error {
	var problems []error
	for _, volume := range service.Volumes {
		if volume.Type != types.VolumeTypeBind {
			continue
		}
		if _, err := os.Stat(volume.Source); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return problems
}

var stage = regexp.MustCompile(`(?mi)^FROM\s+\S+\s+AS\s+(\S+)`)

func buildTarget(name string, build *types.BuildConfig) error {
	text, err := os.ReadFile(filepath.Join(build.Context, build.Dockerfile))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var stages []string
	for _, found := range stage.FindAllStringSubmatch(string(text), -1) {
		stages = append(stages, found[1])
	}
	if !slices.Contains(stages, build.Target) {
		return fmt.Errorf("%s: %s has no stage %s", name, build.Dockerfile, build.Target)
	}
	return nil
}
