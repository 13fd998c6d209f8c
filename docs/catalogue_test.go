package docs_test

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// renderCatalogue lists the types of events, by subject.
func (s *site) renderCatalogue(p *page) error {
	if !p.Catalogue {
		return nil
	}
	subject := ""
	var out strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(s.api.Webhooks)) {
		op := s.api.Webhooks[kind]["post"]
		if of, _, _ := strings.Cut(kind, "."); of != subject {
			if subject != "" {
				out.WriteString("</dl>\n")
			}
			subject = of
			title := strings.ToUpper(of[:1]) + strings.ReplaceAll(of[1:], "_", " ") + " events"
			id := p.uniqueID(slug(title))
			p.Headings = append(p.Headings, heading{ID: id, Text: title, Level: 2})
			fmt.Fprintf(&out, `<h2 id="%s"><a class="anchor" href="#%[1]s">%s</a></h2><dl class="members">`, id, title)
		}
		text, err := s.inline(markNames(op.Description))
		if err != nil {
			return err
		}
		p.addExcerpt(kind)
		fmt.Fprintf(&out, `<div id="%s"><dt><code>%[1]s</code></dt><dd>%s</dd></div>`, kind, text)
	}
	out.WriteString("</dl>\n")
	body, _ := bodyOf(s.api.Webhooks["claim.approved"]["post"].RequestBody)
	p.Headings = append(p.Headings, heading{ID: "example", Text: "An example", Level: 2, Excerpt: "claim.approved"})
	out.WriteString(`<h2 id="example"><a class="anchor" href="#example">An example</a></h2><p>The body of <code>claim.approved</code>:</p>` + string(tabs(s.examples(body, "json"))))
	p.Body += template.HTML(out.String())
	return nil
}

// renderSchema lists the fields of a type of the GraphQL schema, by the file that declares
// them.
func (s *site) renderSchema(p *page) error {
	if p.Schema == "" {
		return nil
	}
	names, err := fs.Glob(s.root, "graph/schema/*.graphqls")
	if err != nil {
		return fmt.Errorf("find the schema: %w", err)
	}
	var sources []*ast.Source
	for _, name := range names {
		content, err := fs.ReadFile(s.root, name)
		if err != nil {
			return fmt.Errorf("read the schema: %w", err)
		}
		sources = append(sources, &ast.Source{Name: path.Base(name), Input: string(content)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		return fmt.Errorf("parse the schema: %w", err)
	}
	fields := slices.DeleteFunc(slices.Clone(schema.Types[p.Schema].Fields), func(f *ast.FieldDefinition) bool { return strings.HasPrefix(f.Name, "__") })
	slices.SortStableFunc(fields, func(a, b *ast.FieldDefinition) int { return cmp.Compare(a.Name, b.Name) })
	var out strings.Builder
	for _, field := range fields {
		text, err := s.inline(markNames(field.Description))
		if err != nil {
			return err
		}
		id := p.uniqueID(field.Name)
		p.Headings = append(p.Headings, heading{ID: id, Text: field.Name, Level: 2, Excerpt: field.Description})
		fmt.Fprintf(&out, `<h2 id="%s"><a class="anchor" href="#%[1]s"><code>%[1]s</code></a></h2><p>%s</p>`, id, text)
		if err := s.writeArguments(&out, schema, field); err != nil {
			return err
		}
	}
	p.Body += template.HTML(out.String())
	return nil
}

// writeArguments writes what a field takes and returns. The one argument input is shown by
// its members.
func (s *site) writeArguments(out *strings.Builder, schema *ast.Schema, field *ast.FieldDefinition) error {
	type argument struct{ name, kind, text string }
	var arguments []argument
	for _, a := range field.Arguments {
		if input := schema.Types[a.Type.Name()]; a.Name == "input" && input.Kind == ast.InputObject {
			for _, member := range input.Fields {
				arguments = append(arguments, argument{"input." + member.Name, member.Type.String(), member.Description})
			}
			continue
		}
		arguments = append(arguments, argument{a.Name, a.Type.String(), a.Description})
	}
	out.WriteString(`<dl class="members">`)
	for _, a := range arguments {
		text, err := s.inline(a.text)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, `<div><dt><code>%s</code> <span class="type">%s</span></dt><dd>%s</dd></div>`, a.name, a.kind, text)
	}
	fmt.Fprintf(out, `<div><dt>Returns <code>%s</code></dt></div></dl>`, field.Type)
	return nil
}
