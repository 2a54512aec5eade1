// check-replicas refuses Deployments with fewer replicas than a package promises.
package main

import (
	"fmt"
	"os"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/fn/framework/command"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Config is the ConfigMap that a pipeline's `configMap` becomes.
type Config struct {
	Data struct {
		Minimum string `yaml:"minimum"`
	} `yaml:"data"`
}

func main() {
	config := &Config{}
	check := framework.ResourceListProcessorFunc(func(list *framework.ResourceList) error {
		if err := framework.LoadFunctionConfig(list.FunctionConfig, config); err != nil {
			return err
		}
		minimum, err := strconv.Atoi(config.Data.Minimum)
		if err != nil {
			return fmt.Errorf("`minimum` is %q, expected a number", config.Data.Minimum)
		}
		for _, item := range list.Items {
			if item.GetKind() != "Deployment" {
				continue
			}
			result, err := compare(item, minimum)
			if err != nil {
				return err
			}
			if result != nil {
				list.Results = append(list.Results, result)
			}
		}
		if len(list.Results) > 0 {
			return list.Results
		}
		return nil
	})
	if err := command.Build(check, command.StandaloneEnabled, false).Execute(); err != nil {
		os.Exit(1)
	}
}

// compare is nil for a Deployment that is fine.
func compare(item *yaml.RNode, minimum int) (*framework.Result, error) {
	// Kubernetes takes a missing number as one.
	value := "1"
	field, err := item.Pipe(yaml.Lookup("spec", "replicas"))
	if err != nil {
		return nil, err
	}
	if field != nil {
		value = field.YNode().Value
	}
	if replicas, err := strconv.Atoi(value); err == nil && replicas >= minimum {
		return nil, nil
	}
	annotations := item.GetAnnotations()
	index, _ := strconv.Atoi(annotations["internal.config.kubernetes.io/index"])
	return &framework.Result{
		Message:  fmt.Sprintf("has %s replicas, this package promises at least %d", value, minimum),
		Severity: framework.Error,
		ResourceRef: &yaml.ResourceIdentifier{
			TypeMeta: yaml.TypeMeta{APIVersion: item.GetApiVersion(), Kind: item.GetKind()},
			NameMeta: yaml.NameMeta{Name: item.GetName(), Namespace: item.GetNamespace()},
		},
		Field: &framework.Field{Path: "spec.replicas", CurrentValue: value, ProposedValue: strconv.Itoa(minimum)},
		File:  &framework.File{Path: annotations["internal.config.kubernetes.io/path"], Index: index},
	}, nil
}
