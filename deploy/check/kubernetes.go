package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// secretsByHand are created by hand: deploy/README.md says how.
var secretsByHand = []string{"stemdb-passwords"}

// manifests is the decoded output of kustomize for the directory.
type manifests struct {
	deployments []*apps.Deployment
	jobs        []*batch.Job
	services    []*core.Service
	budgets     []*policy.PodDisruptionBudget
	configMaps  map[string]*core.ConfigMap
	secrets     map[string]bool
}

func checkKubernetes(root string) error {
	found, err := decode(filepath.Join(root, "kubernetes"))
	if err != nil {
		return err
	}
	var problems []error
	for _, deployment := range found.deployments {
		if err := matches(deployment.Spec.Selector, deployment.Spec.Template.Labels); err != nil {
			problems = append(problems, fmt.Errorf("Deployment %s: %w", deployment.Name, err))
		}
		problems = append(problems, found.pod("Deployment "+deployment.Name, &deployment.Spec.Template.Spec)...)
		problems = append(problems, drains(root, &deployment.Spec.Template.Spec))
	}
	for _, job := range found.jobs {
		problems = append(problems, found.pod("Job "+job.Name, &job.Spec.Template.Spec)...)
	}
	problems = append(problems, found.selected()...)
	return errors.Join(problems...)
}

func decode(directory string) (*manifests, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, apps.AddToScheme, batch.AddToScheme, policy.AddToScheme,
		certmanager.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	options := serializer.SerializerOptions{Yaml: true, Strict: true}
	strict := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme, options)

	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, err
	}
	found := &manifests{configMaps: map[string]*core.ConfigMap{}, secrets: map[string]bool{}}
	for _, name := range secretsByHand {
		found.secrets[name] = true
	}
	for _, resource := range resources.Resources() {
		if resource.GetKind() == "TidbCluster" {
			// store.mjs does.
			continue
		}
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object, _, err := strict.Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
		found.add(object)
	}
	return found, nil
}

func (m *manifests) add(object runtime.Object) {
	switch object := object.(type) {
	case *apps.Deployment:
		m.deployments = append(m.deployments, object)
	case *batch.Job:
		m.jobs = append(m.jobs, object)
	case *core.Service:
		m.services = append(m.services, object)
	case *policy.PodDisruptionBudget:
		m.budgets = append(m.budgets, object)
	case *core.ConfigMap:
		m.configMaps[object.Name] = object
	case *certmanager.Certificate:
		m.secrets[object.Spec.SecretName] = true
	}
}

// drains checks that a node has the time to drain before it is killed.
func drains(root string, spec *core.PodSpec) error {
	drain, err := drainTime(filepath.Join(root, "kubernetes", "stemdb.toml"))
	if err != nil {
		return err
	}
	grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
	if grace < drain+afterDrain {
		return fmt.Errorf("terminationGracePeriodSeconds: draining may take %s", drain+afterDrain)
	}
	live := spec.Containers[0].LivenessProbe
	if patience := time.Duration(live.FailureThreshold*live.PeriodSeconds) * time.Second; patience < drain+afterDrain {
		return fmt.Errorf("livenessProbe: kills a node that drains after %s", patience)
	}
	return nil
}
