package docs_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// section is a group of pages in the navigation.
type section struct {
	Title string  `yaml:"title"`
	Pages []*page `yaml:"pages"`
}

// page is one page of the site. Exactly one of File, Tag, Errors, Schema and Catalogue says
// where its content comes from; File and another one are shown one after the other.
type page struct {
	Path        string `yaml:"path"` // below /docs; empty for the first page
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	File        string `yaml:"file"`
	Sections    string `yaml:"sections"`  // pattern of the headings of File that are shown; empty for those that no other page shows
	Tag         string `yaml:"tag"`       // tag of the OpenAPI document
	Errors      string `yaml:"errors"`    // Markdown file with a section for each error code
	Schema      string `yaml:"schema"`    // type of the GraphQL schema whose fields are listed
	Catalogue   bool   `yaml:"catalogue"` // lists the types of events

	Section    string        `yaml:"-"`
	Hidden     bool          `yaml:"-"` // not in the navigation
	Body       template.HTML `yaml:"-"`
	Headings   []heading     `yaml:"-"`
	Prev, Next *page         `yaml:"-"`
}

// heading is an entry of "On this page" and of the search.
type heading struct {
	ID, Text string
	Level    int
	Excerpt  string // the beginning of the text below it
}

// Address returns the address of the page.
func (p *page) Address() string {
	if p.Path == "" {
		return "/docs"
	}
	return "/docs/" + p.Path
}

// site is what all pages share.
type site struct {
	root     fs.FS
	sections []*section
	pages    []*page
	api      *document
	samples  map[string][]sample // by name of the task
	records  map[string]string   // where a record of the REST API is described, by its name
}

// buildSite renders all files of the site by name.
func buildSite(root fs.FS) (map[string][]byte, error) {
	s := &site{root: root}
	for _, load := range []func() error{s.loadNavigation, s.loadSamples, s.loadDocument, s.renderPages} {
		if err := load(); err != nil {
			return nil, err
		}
	}
	files := map[string][]byte{"search.json": nil}
	for name, path := range map[string]string{
		"site.css": "docs/theme/site.css", "site.js": "docs/theme/site.js", "icon.svg": "docs/theme/icon.svg", "life.svg": "rest/page/life.svg",
	} {
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		files[name] = content
	}
	if err := s.applyTemplate(files); err != nil {
		return nil, err
	}
	index, err := json.Marshal(s.searchIndex())
	files["search.json"] = index
	return files, cmp.Or(err, s.checkLinks(files))
}

// loadNavigation reads the list of pages.
func (s *site) loadNavigation() error {
	content, err := fs.ReadFile(s.root, "docs/navigation.yaml")
	if err != nil {
		return fmt.Errorf("read the navigation: %w", err)
	}
	if err := yaml.Unmarshal(content, &s.sections); err != nil {
		return fmt.Errorf("docs/navigation.yaml: %w", err)
	}
	for _, section := range s.sections {
		for _, p := range section.Pages {
			p.Section = section.Title
			if n := len(s.pages); n > 0 {
				p.Prev, s.pages[n-1].Next = s.pages[n-1], p
			}
			s.pages = append(s.pages, p)
		}
	}
	return nil
}

// renderPages renders the body of each page.
func (s *site) renderPages() error {
	s.findRecords()
	if err := s.checkComplete(); err != nil {
		return err
	}
	for _, p := range slices.Clone(s.pages) {
		if p.File != "" {
			if err := s.renderFile(p); err != nil {
				return err
			}
		}
		for _, render := range []func(*page) error{s.renderTag, s.renderErrors, s.renderSchema, s.renderCatalogue} {
			if err := render(p); err != nil {
				return fmt.Errorf("page %s: %w", p.Address(), err)
			}
		}
	}
	return nil
}

// checkComplete returns an error for operations or a chapter that no page shows.
func (s *site) checkComplete() error {
	shown := map[string]bool{}
	for _, p := range s.pages {
		shown[p.Tag], shown[p.File], shown[p.Errors] = true, true, true
	}
	for _, tag := range s.api.Tags {
		if len(s.api.operations(tag.Name)) > 0 && !shown[tag.Name] {
			return fmt.Errorf("no page of docs/navigation.yaml shows the operations of the tag %q", tag.Name)
		}
	}
	for _, pattern := range []string{"docs/*.md", "rest/*.md"} {
		chapters, err := fs.Glob(s.root, pattern)
		if err != nil {
			return fmt.Errorf("find the chapters: %w", err)
		}
		for _, chapter := range chapters {
			if !shown[chapter] {
				return fmt.Errorf("no page of docs/navigation.yaml shows %s", chapter)
			}
		}
	}
	return nil
}

// applyTemplate writes each page with the frame around it.
func (s *site) applyTemplate(files map[string][]byte) error {
	frame, err := template.New("page.html").Funcs(template.FuncMap{"version": func(name string) string {
		sum := sha256.Sum256(files[name])
		return hex.EncodeToString(sum[:4])
	}}).ParseFS(s.root, "docs/theme/page.html")
	if err != nil {
		return fmt.Errorf("parse the frame: %w", err)
	}
	lost := &page{Path: "404", Title: "There is no such page", Body: "<p>Search with the key <kbd>/</kbd>, or choose a page in the navigation.</p>", Hidden: true}
	for _, p := range append(s.pages, lost) {
		var out bytes.Buffer
		if err := frame.Execute(&out, map[string]any{"Page": p, "Sections": s.sections}); err != nil {
			return fmt.Errorf("page %s: %w", p.Address(), err)
		}
		files[cmp.Or(p.Path, "index")+".html"] = out.Bytes()
	}
	return nil
}

// searchIndex returns [address, page, heading, excerpt] of each heading.
func (s *site) searchIndex() (index [][4]string) {
	for _, p := range s.pages {
		index = append(index, [4]string{p.Address(), p.Title, "", p.Description})
		for _, h := range p.Headings {
			index = append(index, [4]string{p.Address() + "#" + h.ID, p.Title, h.Text, h.Excerpt})
		}
	}
	return index
}

var (
	linkPattern = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)
	idPattern   = regexp.MustCompile(` id="([^"]*)"`)
	// outsidePattern are the links that lead out of the site.
	outsidePattern = regexp.MustCompile(`^(https://|/v1/openapi\.|/verify$|/console$|/sandbox$|/$)`)
)

// checkLinks returns an error for a link to a page or a heading that does not exist.
func (s *site) checkLinks(files map[string][]byte) error {
	known := map[string]bool{}
	for _, p := range s.pages {
		known[p.Address()] = true
		for _, id := range idPattern.FindAllSubmatch(files[cmp.Or(p.Path, "index")+".html"], -1) {
			at := p.Address() + "#" + string(id[1])
			if known[at] {
				return fmt.Errorf("the id %s exists twice", at)
			}
			known[at] = true
		}
	}
	for _, p := range s.pages {
		for _, match := range linkPattern.FindAllSubmatch(files[cmp.Or(p.Path, "index")+".html"], -1) {
			to := template.HTMLEscapeString(string(match[1]))
			if to != "" && to[0] == '#' {
				to = p.Address() + to
			}
			if !known[to] && !outsidePattern.MatchString(to) {
				return fmt.Errorf("the page %s has a link to %s, which does not exist", p.Address(), to)
			}
		}
	}
	return nil
}
