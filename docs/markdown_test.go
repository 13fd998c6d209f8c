package docs_test

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// part is a piece of a Markdown file below one heading of the first two levels.
type part struct{ heading, text string }

// splitFile splits a file at its headings of the first two levels. What is before the first
// of them has an empty heading.
func splitFile(content string) (parts []part) {
	current, isCode := part{}, false
	for line := range strings.SplitAfterSeq(content, "\n") {
		isCode = isCode != strings.HasPrefix(line, "```")
		if !isCode && (strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ")) {
			parts, current = append(parts, current), part{heading: strings.TrimSpace(strings.TrimLeft(line, "#"))}
		}
		current.text += line
	}
	return append(parts, current)
}

// renderFile renders the parts of a file that belong to the page.
func (s *site) renderFile(p *page) error {
	content, err := fs.ReadFile(s.root, p.File)
	if err != nil {
		return fmt.Errorf("read %s: %w", p.File, err)
	}
	var chosen []part
	for _, piece := range splitFile(string(content)) {
		if s.showsPart(p, piece) {
			chosen = append(chosen, piece)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("%s has no heading for the page %s", p.File, p.Address())
	}
	isTitle := func(piece part) bool { return strings.HasPrefix(piece.text, "# ") }
	titles := len(chosen) - len(slices.DeleteFunc(slices.Clone(chosen), isTitle))
	var source strings.Builder
	for _, piece := range chosen {
		switch {
		case isTitle(piece) && titles == 1, len(chosen) == 1 && piece.heading != "":
			_, piece.text, _ = strings.Cut(piece.text, "\n") // the page has a title of its own
		case isTitle(piece):
			piece.text = "#" + piece.text
		}
		source.WriteString(piece.text)
	}
	p.Body, err = s.renderMarkdown(p, source.String())
	return err
}

// showsPart reports whether a page shows a part of its file.
func (s *site) showsPart(p *page, piece part) bool {
	if p.Sections != "" {
		return regexp.MustCompile("^(" + p.Sections + ")").MatchString(piece.heading)
	}
	for _, other := range s.pages {
		if other.File == p.File && other.Sections != "" && s.showsPart(other, piece) {
			return false
		}
	}
	return true
}

// renderMarkdown renders Markdown and adds its headings to the page.
func (s *site) renderMarkdown(p *page, source string) (template.HTML, error) {
	content := []byte(source)
	md := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Linkify),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&pageRenderer{s}, 1))),
	)
	doc := md.Parser().Parse(text.NewReader(content))
	if err := s.prepare(p, doc, content); err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, content, doc); err != nil {
		return "", fmt.Errorf("page %s: %w", p.Address(), err)
	}
	return template.HTML(out.String()), nil
}

// inline renders one paragraph without its element.
func (s *site) inline(source string) (template.HTML, error) {
	html, err := s.renderMarkdown(&page{}, source)
	return template.HTML(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(html)), "<p>"), "</p>")), err
}

// prepare turns bold beginnings of paragraphs into headings, gives every heading an address
// and finds the page that a link to a file means.
func (s *site) prepare(p *page, doc ast.Node, source []byte) error {
	level := 1
	for node := doc.FirstChild(); node != nil; node = node.NextSibling() {
		switch n := node.(type) {
		case *ast.Heading:
			level = n.Level
			p.addHeading(n, plainText(n, source))
		case *ast.Paragraph:
			if title, isBold := boldBeginning(n, source); isBold && p.Path+p.Title != "" {
				n.RemoveChild(n, n.FirstChild())
				if rest, isText := n.FirstChild().(*ast.Text); isText {
					rest.Segment = rest.Segment.TrimLeftSpace(source)
				}
				h := ast.NewHeading(max(2, level+1))
				h.AppendChild(h, ast.NewString([]byte(title)))
				doc.InsertBefore(doc, n, h)
				p.addHeading(h, title)
			}
			p.addExcerpt(plainText(n, source))
		default:
			p.addExcerpt(plainText(n, source))
		}
	}
	return ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, isLink := n.(*ast.Link); isLink && entering {
			link.Destination = []byte(s.resolveLink(p, string(link.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

// resolveLink returns the page that shows a file of the source tree; other links stay.
func (s *site) resolveLink(p *page, to string) string {
	file, anchor, hasAnchor := strings.Cut(to, "#")
	if file == "" || strings.HasPrefix(file, "/") || strings.Contains(file, ":") {
		return to
	}
	for _, other := range s.pages {
		if other.File == path.Join(path.Dir(p.File), file) && (other.Sections == "" || !hasAnchor) {
			return strings.TrimSuffix(other.Address()+"#"+anchor, "#")
		}
	}
	return to
}

// boldBeginning returns the bold text that a paragraph begins with, if it ends with a full
// stop.
func boldBeginning(n *ast.Paragraph, source []byte) (string, bool) {
	bold, isEmphasis := n.FirstChild().(*ast.Emphasis)
	if !isEmphasis || bold.Level != 2 {
		return "", false
	}
	return strings.CutSuffix(plainText(bold, source), ".")
}

// addHeading adds a heading with an address that is unique on the page.
func (p *page) addHeading(n *ast.Heading, title string) {
	id := p.uniqueID(slug(title))
	n.SetAttributeString("id", id)
	p.Headings = append(p.Headings, heading{ID: id, Text: title, Level: n.Level})
}

func (p *page) uniqueID(id string) string {
	unique := id
	for i := 1; ; i++ {
		taken := false
		for _, h := range p.Headings {
			taken = taken || h.ID == unique
		}
		if !taken {
			return unique
		}
		unique = id + "-" + strconv.Itoa(i)
	}
}

const maxExcerpt = 240

// addExcerpt adds text to the last heading, for the search.
func (p *page) addExcerpt(more string) {
	if n := len(p.Headings); n > 0 && len(p.Headings[n-1].Excerpt) < maxExcerpt {
		joined := []rune(strings.TrimSpace(p.Headings[n-1].Excerpt + " " + more))
		p.Headings[n-1].Excerpt = string(joined[:min(len(joined), maxExcerpt)])
	}
}

// slug makes the address of a heading as GitHub does.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, title)
}

// plainText returns the text of a node without its form.
func plainText(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(source))
			if n.SoftLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *extensionast.TableCell:
			out.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(out.String())
}
