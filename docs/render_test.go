package docs_test

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// pageRenderer renders the nodes that need more than plain HTML.
type pageRenderer struct{ site *site }

// RegisterFuncs implements renderer.NodeRenderer.
func (r *pageRenderer) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindFencedCodeBlock, r.renderCode)
	register.Register(ast.KindHeading, renderHeading)
	register.Register(extensionast.KindTable, renderTable)
}

// renderCode renders a code block. A block of the language "samples" names a task: it
// becomes the samples of this task in all languages.
func (r *pageRenderer) renderCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.FencedCodeBlock)
	info := ""
	if block.Info != nil {
		info = string(block.Info.Segment.Value(source))
	}
	if task, isSamples := strings.CutPrefix(info, "samples "); isSamples {
		samples := r.site.samples[task]
		if len(samples) != len(sampleLanguages) {
			return ast.WalkStop, fmt.Errorf("the task %s has %d samples, not %d", task, len(samples), len(sampleLanguages))
		}
		_, _ = w.WriteString(string(tabs(samples)))
		return ast.WalkSkipChildren, nil
	}
	var code strings.Builder
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		code.Write(line.Value(source))
	}
	language, _, _ := strings.Cut(info, " ")
	_, _ = w.WriteString(string(codeBlock(language, strings.TrimRight(code.String(), "\n"))))
	return ast.WalkSkipChildren, nil
}

// codeBlock renders code. Long lines scroll, also by keyboard.
func codeBlock(language, code string) template.HTML {
	return template.HTML(`<pre tabindex="0" data-lang="` + template.HTMLEscapeString(language) + `"><code>` + template.HTMLEscapeString(code) + "</code></pre>\n")
}

// tabs renders samples, of which the reader sees one at a time. Without JavaScript, and on
// paper, all are shown.
func tabs(samples []sample) template.HTML {
	if len(samples) == 1 {
		return codeBlock(samples[0].Language, samples[0].Code)
	}
	var out strings.Builder
	out.WriteString(`<div class="tabs">`)
	for _, sample := range samples {
		title := template.HTMLEscapeString(sample.Title)
		out.WriteString(`<section data-tab="` + title + `"><p>` + title + `</p>` + string(codeBlock(sample.Language, sample.Code)) + `</section>`)
	}
	out.WriteString("</div>\n")
	return template.HTML(out.String())
}

// renderHeading renders a heading that is a link to itself.
func renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	id, _ := n.AttributeString("id")
	level := n.(*ast.Heading).Level
	if entering {
		_, _ = fmt.Fprintf(w, `<h%d id="%s"><a class="anchor" href="#%s">`, level, id, id)
	} else {
		_, _ = fmt.Fprintf(w, "</a></h%d>\n", level)
	}
	return ast.WalkContinue, nil
}

// renderTable renders a table that scrolls on small screens.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="scroll" tabindex="0"><table>`)
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}
