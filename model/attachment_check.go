package model

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// documentKind is what a file of one media type must be like.
type documentKind struct {
	extensions []string
	looks      []string // what its first bytes may look like; empty: reads says more
	reads      func([]byte) string
}

// attachable are the types a claim takes. Text has no signature of its own, so a
// table may look like plain text; a heic picture may name the format it is a case
// of.
var attachable = map[string]documentKind{
	"application/pdf":      {[]string{".pdf"}, []string{"application/pdf"}, nil},
	"image/png":            {[]string{".png"}, []string{"image/png"}, nil},
	"image/jpeg":           {[]string{".jpg", ".jpeg"}, []string{"image/jpeg"}, nil},
	"image/webp":           {[]string{".webp"}, []string{"image/webp"}, nil},
	"image/heic":           {[]string{".heic", ".heif"}, []string{"image/heic", "image/heic-sequence", "image/heif", "image/heif-sequence"}, nil},
	"text/csv":             {[]string{".csv"}, []string{"text/csv", "text/plain", "text/tab-separated-values"}, readsAsText},
	"application/json":     {[]string{".json"}, nil, readsAsJSON},
	"application/geo+json": {[]string{".geojson", ".json"}, nil, readsAsGeoJSON},
	"text/plain":           {[]string{".txt", ".text", ".log", ".md"}, []string{"text/plain", "text/csv", "text/tab-separated-values"}, readsAsText},
}

func (in *AttachmentRequest) check(c *fieldCheck) {
	kind, known := attachable[in.ContentType]
	c.that(known, "/content_type", "enum", "A claim takes pdf, png, jpeg, webp, heic, csv, json, geojson and plain text: "+strings.Join(slices.Sorted(maps.Keys(attachable)), ", ")+".")
	c.fileName(in.FileName, kind)
	c.that(len(in.Content) > 0, "/content_base64", "required", "The file is empty.")
	c.that(len(in.Content) <= maxAttachment, "/content_base64", "length", "A file has at most 10 MiB.")
	c.that(in.Purpose == nil || utf8.RuneCountInString(*in.Purpose) <= 100, "/purpose", "length", "Use at most 100 characters.")
	c.that(in.Description == nil || utf8.RuneCountInString(*in.Description) <= 1000, "/description", "length", "Use at most 1000 characters.")
	c.that(in.SHA256 == nil || !c.readable("/content_base64") || strings.EqualFold(*in.SHA256, in.digest()), "/sha256", "mismatch", "It is not the SHA-256 of the content; was the file damaged on its way?")
	if known && len(in.Content) > 0 && len(in.Content) <= maxAttachment {
		flaw := kind.flaw(in.Content)
		c.that(flaw == "", "/content_type", "mismatch", flaw)
	}
}

const maxFileName = 255

// fileName takes a name that every system can save, and whose extension opens the
// file as what it is.
func (c *fieldCheck) fileName(name string, kind documentKind) {
	if name != strings.TrimSpace(name) || name == "" || utf8.RuneCountInString(name) > maxFileName ||
		strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, misleading) || strings.Trim(name, ".") == "" {
		c.that(false, "/file_name", "value", "Use a plain file name of 1 to 255 characters, without slashes and control characters, and without blanks at its ends.")
		return
	}
	extension := strings.ToLower(path.Ext(name))
	fits := extension == "" || kind.extensions == nil || slices.Contains(kind.extensions, extension)
	c.that(fits, "/file_name", "mismatch", "For this content_type a name ends in "+strings.Join(kind.extensions, " or ")+", or has no dot.")
}

// misleading characters end a line, or turn the direction of reading so that a
// name looks like another one.
func misleading(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// flaw is why the content is not of the kind, empty when it is.
func (k documentKind) flaw(content []byte) string {
	if k.looks != nil {
		seen, _, _ := strings.Cut(mimetype.Detect(content).String(), ";")
		if !slices.Contains(k.looks, seen) {
			return "The content is " + seen + ", not what content_type says."
		}
	}
	if k.reads != nil {
		return k.reads(content)
	}
	return ""
}

func readsAsText(content []byte) string {
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return "The content is not text in UTF-8; save it in that encoding, without NUL characters."
	}
	return ""
}

// byteOrderMark may stand before a text; RFC 8259 section 8.1 lets readers pass
// over it.
var byteOrderMark = []byte("\ufeff")

// asWritten reads JSON as its grammar has it: what else is wise is the writer's
// matter, for nothing here depends on it.
var asWritten = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func readsAsJSON(content []byte) string {
	if flaw := readsAsText(content); flaw != "" {
		return flaw
	}
	if !jsontext.Value(bytes.TrimPrefix(content, byteOrderMark)).IsValid(asWritten) {
		return "The content is not one JSON text (RFC 8259)."
	}
	return ""
}

// geometries are the types of RFC 7946 section 1.4.
var geometries = []string{
	"Feature", "FeatureCollection", "GeometryCollection",
	"Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon",
}

func readsAsGeoJSON(content []byte) string {
	if flaw := readsAsJSON(content); flaw != "" {
		return flaw
	}
	var object struct {
		Type jsontext.Value `json:"type"`
	}
	var kind string
	err := json.Unmarshal(bytes.TrimPrefix(content, byteOrderMark), &object, asWritten)
	if err == nil {
		err = json.Unmarshal(object.Type, &kind)
	}
	if err != nil || !slices.Contains(geometries, kind) {
		return "The content is not GeoJSON: it must be an object whose type is one of " + strings.Join(geometries, ", ") + " (RFC 7946)."
	}
	return ""
}
