package docs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// member is one member of a request or a record.
type member struct {
	Name, Type, Link string
	Required         bool
	Text             template.HTML
	Values           []string
	Members          []member
}

// endpoint is what the reference shows of an operation.
type endpoint struct {
	*operation

	Anchor, Status string
	Scopes         []string
	Text           template.HTML
	Headers        []string
	Parameters     []member
	Body           []member
	Returns        string
	ReturnsLink    string
	IsList         bool
	Request        template.HTML
	Answer         template.HTML
	Errors         []statusErrors
}

type statusErrors struct {
	Status string
	Codes  []string
}

// maxIntroduction is the length from which the description of a tag is a chapter, which has
// a page of its own.
const maxIntroduction = 1000

// renderTag renders the operations and the records of a tag.
func (s *site) renderTag(p *page) error {
	if p.Tag == "" {
		return nil
	}
	operations := s.api.operations(p.Tag)
	if len(operations) == 0 {
		return fmt.Errorf("the OpenAPI document has no operation of the tag %q", p.Tag)
	}
	for _, tag := range s.api.Tags {
		if tag.Name == p.Tag && len(tag.Description) < maxIntroduction {
			introduction, err := s.renderMarkdown(&page{}, markNames(tag.Description))
			if err != nil {
				return err
			}
			p.Body = introduction
		}
	}
	var endpoints []endpoint
	for _, op := range operations {
		e, err := s.endpoint(op)
		if err != nil {
			return err
		}
		e.Anchor = p.uniqueID(slug(op.Summary))
		p.Headings = append(p.Headings, heading{ID: e.Anchor, Text: op.Summary, Level: 2, Excerpt: op.Method + " /v1" + op.Path + " " + op.Description})
		endpoints = append(endpoints, e)
	}
	type record struct {
		Name, Anchor string
		Text         template.HTML
		Members      []member
	}
	var records []record
	for _, name := range s.recordsOf(p.Tag) {
		described, _ := s.api.resolve(s.api.Components.Schemas[name])
		text, err := s.inline(markNames(described.Description))
		if err != nil {
			return err
		}
		members, err := s.members(described, 0, true)
		if err != nil {
			return err
		}
		records = append(records, record{name, recordAnchor(name), text, members})
		p.Headings = append(p.Headings, heading{ID: recordAnchor(name), Text: "The record " + name, Level: 2, Excerpt: described.Description + " " + strings.Join(described.memberNames(), " ")})
	}
	frame, err := template.New("reference.html").ParseFS(s.root, "docs/theme/reference.html")
	if err != nil {
		return fmt.Errorf("parse the reference: %w", err)
	}
	var out bytes.Buffer
	if err := frame.Execute(&out, map[string]any{"Endpoints": endpoints, "Records": records}); err != nil {
		return fmt.Errorf("write the reference: %w", err)
	}
	p.Body += template.HTML(out.String())
	return nil
}

func recordAnchor(name string) string { return "record-" + strings.ToLower(name) }

// successStatus returns the status of an operation's usual answer.
func (op *operation) successStatus() string {
	for _, status := range []string{"201", "202", "204", "200"} {
		if op.Responses[status] != nil {
			return status
		}
	}
	return ""
}

// recordName returns the name of the record that an operation answers; that of the records
// of a list.
func (s *site) recordName(op *operation) string {
	for _, body := range op.Responses[op.successStatus()].Content {
		resolved, name := s.api.resolve(body.Schema)
		if list := resolved.Properties["data"]; list != nil && strings.HasPrefix(name, "List") && list.Items != nil {
			_, name = s.api.resolve(list.Items)
		}
		return name
	}
	return ""
}

// recordsOf returns the records that are described with a tag: those that no earlier tag
// answers.
func (s *site) recordsOf(tag string) (names []string) {
	seen := map[string]bool{"": true}
	for _, t := range s.api.Tags {
		for _, op := range s.api.operations(t.Name) {
			if name := s.recordName(op); !seen[name] {
				seen[name] = true
				if t.Name == tag {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// findRecords finds where each record is described.
func (s *site) findRecords() {
	s.records = map[string]string{"": ""}
	for _, p := range s.pages {
		if p.Tag == "" {
			continue
		}
		for _, name := range s.recordsOf(p.Tag) {
			s.records[name] = p.Address() + "#" + recordAnchor(name)
		}
	}
}

func (s *site) endpoint(op *operation) (endpoint, error) {
	e := endpoint{operation: op, Status: op.successStatus(), Returns: s.recordName(op)}
	e.ReturnsLink, e.IsList = s.records[e.Returns], strings.HasPrefix(op.ID, "list")
	for _, scope := range op.Security {
		e.Scopes = append(e.Scopes, scope["bearer"]...)
	}
	var err error
	if e.Text, err = s.inline(markNames(op.Description)); err != nil {
		return e, err
	}
	for _, p := range op.Parameters {
		if p.In == "header" {
			e.Headers = append(e.Headers, p.Name)
			continue
		}
		m, err := s.member(p.Name, p.Schema, p.Required, 0)
		if err != nil {
			return e, err
		}
		if p.Description != "" {
			m.Text, err = s.inline(markNames(p.Description))
		}
		if e.Parameters = append(e.Parameters, m); err != nil {
			return e, err
		}
	}
	if body, exists := bodyOf(op.RequestBody); exists {
		resolved, _ := s.api.resolve(body.Schema)
		if e.Body, err = s.members(resolved, 0, false); err != nil {
			return e, err
		}
	}
	e.Request = tabs(s.curl(op))
	if body, exists := bodyOf(op.Responses[e.Status]); exists {
		e.Answer = tabs(s.examples(body, "json"))
	}
	e.Errors = s.errorsOf(op)
	return e, nil
}

func bodyOf(r *response) (media, bool) {
	if r == nil {
		return media{}, false
	}
	body, exists := r.Content[jsonType]
	return body, exists
}

// errorsOf returns the error codes of an operation by status.
func (s *site) errorsOf(op *operation) (all []statusErrors) {
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if problem, exists := s.api.response(op.Responses[status]).Content[problemType]; exists {
			all = append(all, statusErrors{status, slices.Sorted(maps.Keys(problem.Examples))})
		}
	}
	return all
}

// examples returns the examples of a body, the shortest first.
func (s *site) examples(body media, language string) (all []sample) {
	for _, name := range slices.Sorted(maps.Keys(body.Examples)) {
		all = append(all, sample{body.Examples[name].Summary, language, s.api.formatExample(body.Examples[name].Value, body.Schema)})
	}
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(len(a.Code), len(b.Code)) })
	if body.Example != nil {
		all = append(all, sample{"", language, s.api.formatExample(body.Example, body.Schema)})
	}
	return all
}

var (
	pathParameter = regexp.MustCompile(`\{(\w+)\}`)
	exampleID     = regexp.MustCompile(`"(\w+)": "((?:quo|pol|clm|att|pmt|pay|occ|obs|evt|whe|dlv)_[0-9a-z]{26}|\d{4}-\d\d-\d\dT[^"]*)"`)
)

// curl returns the commands that call an operation, one for each example of its body. Ids
// and times of the example are variables of the shell.
func (s *site) curl(op *operation) []sample {
	address := pathParameter.ReplaceAllStringFunc(op.Path, func(name string) string { return "$" + strings.ToUpper(strings.Trim(name, "{}")) })
	command := "curl -s "
	if method := op.Method; method == "PATCH" || method == "DELETE" || method == "POST" && op.RequestBody == nil {
		command += "-X " + method + " "
	}
	command += `"$BASE/v1` + address + `" \` + "\n" + `  -H "Authorization: Bearer $TOKEN"`
	body, exists := bodyOf(op.RequestBody)
	all := s.examples(body, "sh")
	if !exists || len(all) == 0 {
		return []sample{{"", "sh", command}}
	}
	for i := range all {
		text := strings.ReplaceAll(strings.ReplaceAll(all[i].Code, "'", `'\''`), "\n", "\n  ")
		text = exampleID.ReplaceAllStringFunc(text, func(found string) string {
			name := exampleID.FindStringSubmatch(found)[1]
			return `"` + name + `": "'"$` + strings.ToUpper(name) + `"'"`
		})
		all[i].Code = command + " \\\n  -H 'Content-Type: application/json' \\\n  -d '" + text + "'"
	}
	return all
}
