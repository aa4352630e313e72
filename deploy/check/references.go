package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// afterDrain is how long a node takes at most after drain_seconds: 5 s in which statements notice that they are interrupted,
// and the time to close the store.
const afterDrain = 10 * time.Second

var drainSeconds = regexp.MustCompile(`(?m)^(?:delay|drain)_seconds = ([0-9]+)$`)

// drainTime is the time from SIGTERM until a node interrupts its last transactions, by its configuration.
func drainTime(configuration string) (time.Duration, error) {
	text, err := os.ReadFile(configuration)
	if err != nil {
		return 0, err
	}
	found := drainSeconds.FindAllSubmatch(text, -1)
	if len(found) != 2 {
		return 0, fmt.Errorf("%s: delay_seconds and drain_seconds are expected", configuration)
	}
	var sum time.Duration
	for _, key := range found {
		seconds, err := strconv.Atoi(string(key[1]))
		if err != nil {
			return 0, err
		}
		sum += time.Duration(seconds) * time.Second
	}
	return sum, nil
}

func matches(selector *meta.LabelSelector, have map[string]string) error {
	parsed, err := meta.LabelSelectorAsSelector(selector)
	if err != nil {
		return err
	}
	if parsed.Empty() || !parsed.Matches(labels.Set(have)) {
		return fmt.Errorf("the selector %s does not match the labels %v", parsed, have)
	}
	return nil
}

// selected checks that each Service and each PodDisruptionBudget selects the pods of a Deployment, and the ports' names.
func (m *manifests) selected() []error {
	var problems []error
	for _, service := range m.services {
		matched := false
		for _, deployment := range m.deployments {
			selector := &meta.LabelSelector{MatchLabels: service.Spec.Selector}
			if matches(selector, deployment.Spec.Template.Labels) != nil {
				continue
			}
			matched = true
			for _, port := range service.Spec.Ports {
				if !hasPort(deployment.Spec.Template.Spec.Containers, port.TargetPort) {
					problems = append(problems, fmt.Errorf("Service %s: no port %s", service.Name, port.TargetPort.String()))
				}
			}
		}
		if !matched {
			problems = append(problems, fmt.Errorf("Service %s: selects nothing", service.Name))
		}
	}
	for _, budget := range m.budgets {
		matched := false
		for _, deployment := range m.deployments {
			matched = matched || matches(budget.Spec.Selector, deployment.Spec.Template.Labels) == nil
		}
		if !matched {
			problems = append(problems, fmt.Errorf("PodDisruptionBudget %s: selects nothing", budget.Name))
		}
	}
	return problems
}

func hasPort(containers []core.Container, wanted intstr.IntOrString) bool {
	for _, container := range containers {
		for _, port := range container.Ports {
			if wanted.Type == intstr.String && port.Name == wanted.StrVal || wanted.IntVal == port.ContainerPort {
				return true
			}
		}
	}
	return false
}

// pod checks what a pod refers to: volumes, ConfigMaps, Secrets, ports of probes, and the files that its configuration
// names.
func (m *manifests) pod(name string, spec *core.PodSpec) []error {
	var problems []error
	problem := func(format string, arguments ...any) {
		problems = append(problems, fmt.Errorf(name+": "+format, arguments...))
	}
	volumes := map[string]bool{}
	var configuration []string
	for _, volume := range spec.Volumes {
		volumes[volume.Name] = true
		if from := volume.ConfigMap; from != nil {
			found := m.configMaps[from.Name]
			if found == nil {
				problem("no ConfigMap %s", from.Name)
				continue
			}
			configuration = append(configuration, found.Data["stemdb.toml"])
		}
		if from := volume.Secret; from != nil && !m.secrets[from.SecretName] {
			problem("no Secret %s", from.SecretName)
		}
	}
	for _, container := range spec.Containers {
		var places []string
		for _, mount := range container.VolumeMounts {
			places = append(places, mount.MountPath+"/")
			if !volumes[mount.Name] {
				problem("no volume %s", mount.Name)
			}
		}
		for _, probe := range []*core.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
			if probe != nil && probe.HTTPGet != nil && !hasPort(spec.Containers, probe.HTTPGet.Port) {
				problem("a probe asks at port %s, which is not there", probe.HTTPGet.Port.String())
			}
		}
		for _, file := range filesNamed(configuration) {
			if !anyPrefix(file, places) {
				problem("%s is in no volume", file)
			}
		}
	}
	return problems
}

var fileNamed = regexp.MustCompile(`(?m)^\w+ = "(/[^"]+)"$`)

func filesNamed(configuration []string) []string {
	var files []string
	for _, text := range configuration {
		for _, found := range fileNamed.FindAllStringSubmatch(text, -1) {
			files = append(files, found[1])
		}
	}
	return files
}

func anyPrefix(file string, places []string) bool {
	for _, place := range places {
		if strings.HasPrefix(file, place) {
			return true
		}
	}
	return false
}
