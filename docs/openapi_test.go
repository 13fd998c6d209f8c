package docs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is what the site shows of the OpenAPI document.
type document struct {
	Tags []struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	} `yaml:"tags"`
	Paths      map[string]map[string]*operation `yaml:"paths"`
	Webhooks   map[string]map[string]*operation `yaml:"webhooks"`
	Components struct {
		Schemas    map[string]*schema    `yaml:"schemas"`
		Responses  map[string]*response  `yaml:"responses"`
		Parameters map[string]*parameter `yaml:"parameters"`
	} `yaml:"components"`
}

type operation struct {
	ID          string                `yaml:"operationId"`
	Summary     string                `yaml:"summary"`
	Description string                `yaml:"description"`
	Tags        []string              `yaml:"tags"`
	Security    []map[string][]string `yaml:"security"`
	Parameters  []*parameter          `yaml:"parameters"`
	RequestBody *response             `yaml:"requestBody"`
	Responses   map[string]*response  `yaml:"responses"`

	Method, Path string `yaml:"-"`
}

type parameter struct {
	Ref         string  `yaml:"$ref"`
	Name        string  `yaml:"name"`
	In          string  `yaml:"in"`
	Required    bool    `yaml:"required"`
	Description string  `yaml:"description"`
	Schema      *schema `yaml:"schema"`
}

// response is the body of a request or of an answer.
type response struct {
	Ref         string           `yaml:"$ref"`
	Description string           `yaml:"description"`
	Content     map[string]media `yaml:"content"`
}

type media struct {
	Schema   *schema `yaml:"schema"`
	Example  any     `yaml:"example"`
	Examples map[string]struct {
		Summary string `yaml:"summary"`
		Value   any    `yaml:"value"`
	} `yaml:"examples"`
}

type schema struct {
	Ref                  string             `yaml:"$ref"`
	Type                 any                `yaml:"type"`
	Format               string             `yaml:"format"`
	Description          string             `yaml:"description"`
	Enum                 []any              `yaml:"enum"`
	Properties           map[string]*schema `yaml:"properties"`
	Required             []string           `yaml:"required"`
	Items                *schema            `yaml:"items"`
	OneOf                []*schema          `yaml:"oneOf"`
	AllOf                []*schema          `yaml:"allOf"`
	AdditionalProperties any                `yaml:"additionalProperties"`
	MaxLength            *int               `yaml:"maxLength"`
	Default              any                `yaml:"default"`
}

const (
	schemaPrefix = "#/components/schemas/"
	jsonType     = "application/json"
	problemType  = "application/problem+json"
)

// loadDocument reads the OpenAPI document.
func (s *site) loadDocument() error {
	content, err := fs.ReadFile(s.root, "rest/openapi.yaml")
	if err != nil {
		return fmt.Errorf("read the OpenAPI document: %w", err)
	}
	s.api = &document{}
	if err := yaml.Unmarshal(content, s.api); err != nil {
		return fmt.Errorf("rest/openapi.yaml: %w", err)
	}
	for path, methods := range s.api.Paths {
		for method, op := range methods {
			op.Method, op.Path = strings.ToUpper(method), path
			for i, p := range op.Parameters {
				if p.Ref != "" {
					op.Parameters[i] = s.api.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
			}
		}
	}
	return nil
}

// operations returns the operations of a tag: those of its main resource first, by path,
// and for one path what creates before what reads.
func (d *document) operations(tag string) (all []*operation) {
	order := []string{"post", "get", "patch", "delete"}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range order {
			if op := d.Paths[path][method]; op != nil && slices.Contains(op.Tags, tag) {
				all = append(all, op)
			}
		}
	}
	count := map[string]int{}
	resource := func(op *operation) string { return strings.Split(op.Path, "/")[1] }
	for _, op := range all {
		count[resource(op)]++
	}
	slices.SortStableFunc(all, func(a, b *operation) int { return cmp.Compare(count[resource(b)], count[resource(a)]) })
	return all
}

// response returns the response that a reference names.
func (d *document) response(r *response) *response {
	if name, isRef := strings.CutPrefix(r.Ref, "#/components/responses/"); isRef {
		return d.Components.Responses[name]
	}
	return r
}

// resolve returns the schema that a reference names, and its name. A schema that may also be
// null is resolved to what it is otherwise.
func (d *document) resolve(s *schema) (*schema, string) {
	for _, one := range s.OneOf {
		if one.Type != "null" && len(s.OneOf) == 2 {
			return d.resolve(one)
		}
	}
	if name, isRef := strings.CutPrefix(s.Ref, schemaPrefix); isRef {
		target, inner := d.resolve(d.Components.Schemas[name])
		if inner != "" {
			name = inner
		}
		return target, name
	}
	return s, ""
}

// memberNames returns the members of an object: the required ones in the order of the
// record, then the others.
func (s *schema) memberNames() []string {
	names := slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool { return s.Properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// formatExample writes an example as JSON, with the members in the order of the schema.
func (d *document) formatExample(value any, s *schema) string {
	var out bytes.Buffer
	d.writeExample(&out, value, s, "\n")
	return out.String()
}

func (d *document) writeExample(out *bytes.Buffer, value any, s *schema, newline string) {
	if s == nil {
		s = &schema{}
	}
	s, _ = d.resolve(s)
	write := func(opening, closing byte, count int, each func(i int)) {
		out.WriteByte(opening)
		for i := range count {
			out.WriteString(newline + "  ")
			each(i)
			if i < count-1 {
				out.WriteByte(',')
			}
		}
		if count > 0 {
			out.WriteString(newline)
		}
		out.WriteByte(closing)
	}
	switch v := value.(type) {
	case map[string]any:
		names := slices.DeleteFunc(s.memberNames(), func(name string) bool { _, has := v[name]; return !has })
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		write('{', '}', len(names), func(i int) {
			out.WriteString(`"` + names[i] + `": `)
			d.writeExample(out, v[names[i]], s.Properties[names[i]], newline+"  ")
		})
	case []any:
		write('[', ']', len(v), func(i int) { d.writeExample(out, v[i], s.Items, newline+"  ") })
	default:
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(v) // a string, a number, a boolean or null
		out.Truncate(out.Len() - 1)
	}
}
