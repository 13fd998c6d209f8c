package docs_test

import (
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"sort"
	"strings"

	"parapet/internal/errormap"
)

// sample is code in one language.
type sample struct{ Title, Language, Code string }

// sampleLanguages are the programs with the samples, one file or several. The check docs.sh
// runs them.
var sampleLanguages = []struct{ title, language, files string }{
	{"curl", "sh", "internal/interop/docs/samples/partner.sh"},
	{"Python", "python", "internal/interop/docs/samples/partner.py"},
	{"TypeScript", "ts", "internal/interop/docs/samples/partner.mts"},
	{"Go", "go", "internal/interop/client-go/samples/*.go"},
}

// samplePattern is a comment that begins the sample of a task; "end" ends it.
var samplePattern = regexp.MustCompile(`^\s*(?:#|//) docs: (\S+)$`)

// loadSamples reads the samples of every task from the programs.
func (s *site) loadSamples() error {
	s.samples = map[string][]sample{}
	for _, in := range sampleLanguages {
		content, err := readFiles(s.root, in.files)
		if err != nil {
			return fmt.Errorf("read the samples: %w", err)
		}
		task, lines := "end", []string(nil)
		for line := range strings.Lines(content + "\n// docs: end\n") {
			line = strings.TrimRight(line, "\n")
			match := samplePattern.FindStringSubmatch(line)
			if match == nil {
				lines = append(lines, line)
				continue
			}
			if task != "end" {
				s.samples[task] = append(s.samples[task], sample{in.title, in.language, dedent(lines)})
			}
			task, lines = match[1], nil
		}
	}
	return nil
}

// readFiles joins the files of a pattern. Errors: fs.ErrNotExist when there is none.
func readFiles(root fs.FS, pattern string) (string, error) {
	names, err := fs.Glob(root, pattern)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: %w", pattern, fs.ErrNotExist)
	}
	var all strings.Builder
	for _, name := range names {
		content, readErr := fs.ReadFile(root, name)
		err = errors.Join(err, readErr)
		all.Write(content)
	}
	return all.String(), err
}

// dedent removes the indentation that all lines share.
func dedent(lines []string) string {
	code := strings.Trim(strings.Join(lines, "\n"), "\n")
	indent := code[:len(code)-len(strings.TrimLeft(code, " \t"))]
	return strings.ReplaceAll(strings.TrimPrefix(code, indent), "\n"+indent, "\n")
}

// renderErrors makes a page for each error code from the sections of a Markdown file, and
// lists them on the page.
func (s *site) renderErrors(p *page) error {
	if p.Errors == "" {
		return nil
	}
	content, err := fs.ReadFile(s.root, p.Errors)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.Errors, err)
	}
	texts := map[string]string{}
	for _, piece := range splitFile(string(content)) {
		texts[piece.heading] = piece.text
	}
	codes := errormap.Codes()
	sort.SliceStable(codes, func(i, j int) bool { return errormap.MeaningOf(codes[i]).Status < errormap.MeaningOf(codes[j]).Status })
	var list strings.Builder
	for _, code := range codes {
		_, text, found := strings.Cut(texts[string(code)], "\n")
		if !found {
			return fmt.Errorf("%s has no section for the error %s", p.Errors, code)
		}
		own, err := s.errorPage(string(code), errormap.MeaningOf(code), text)
		if err != nil {
			return err
		}
		own.Section, own.Prev = p.Title, p
		s.pages = append(s.pages, own)
		fmt.Fprintf(&list, `<tr><td>%d</td><td><a href="%s"><code>%s</code></a></td><td>%s</td></tr>`, errormap.MeaningOf(code).Status, own.Address(), code, own.Description)
	}
	p.Body += template.HTML(`<div class="scroll" tabindex="0"><table><thead><tr><th>Status</th><th>Code</th><th>Meaning</th></tr></thead><tbody>` + list.String() + "</tbody></table></div>")
	return nil
}

// errorPage renders the page that the type of a problem document names.
func (s *site) errorPage(code string, meaning errormap.Meaning, text string) (*page, error) {
	p := &page{Path: "errors/" + code, Title: code, Description: meaning.Title, Hidden: true}
	repeat := "The same request fails again: change it first."
	if meaning.Retryable {
		repeat = "The same request can succeed later: send it again after the seconds that Retry-After names."
	}
	body, err := s.renderMarkdown(p, text)
	body += s.errorExample(p, code)
	p.Body = template.HTML(fmt.Sprintf("<p class=\"lead\">%s.</p><dl class=\"facts\"><div><dt>Status</dt><dd>%d</dd></div><div><dt>retryable</dt><dd>%t. %s</dd></div></dl>", template.HTMLEscapeString(meaning.Title), meaning.Status, meaning.Retryable, repeat)) + body
	return p, err
}

// maxListed is the number of operations from which an error is one of all operations, so
// that a list says nothing.
const maxListed = 15

// errorExample shows a problem document of the code, and which operations answer it.
func (s *site) errorExample(p *page, code string) template.HTML {
	var example any
	var operations strings.Builder
	count := 0
	for _, tag := range s.api.Tags {
		for _, op := range s.api.operations(tag.Name) {
			for _, r := range op.Responses {
				r = s.api.response(r)
				if found, exists := r.Content[problemType].Examples[code]; exists {
					example = found.Value
					count++
					fmt.Fprintf(&operations, "<li><code>%s /v1%s</code></li>", op.Method, op.Path)
				}
			}
		}
	}
	if count == 0 {
		return "" // of GraphQL only
	}
	add := func(id, title, html string) template.HTML {
		p.Headings = append(p.Headings, heading{ID: id, Text: title, Level: 2})
		return template.HTML(fmt.Sprintf(`<h2 id="%s"><a class="anchor" href="#%[1]s">%s</a></h2>%s`, id, title, html))
	}
	shown := add("example", "An example", string(codeBlock("json", s.api.formatExample(example, s.api.Components.Schemas["Problem"]))))
	if count < maxListed {
		shown += add("operations", "Operations that answer it", "<ul>"+operations.String()+"</ul>")
	}
	return shown
}
