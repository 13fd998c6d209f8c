package product

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// jsonFromYAML converts exactly one YAML document to JSON. It keeps order and digits,
// so that a product shows its schema as its author wrote it. It refuses, with the line,
// what JSON cannot represent without loss (aliases, tags, infinities, duplicate names).
func jsonFromYAML(source []byte) (jsontext.Value, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("one file holds one product: there must be a single YAML document")
	}
	if len(document.Content) == 0 {
		return nil, errors.New("the document is empty")
	}
	var out bytes.Buffer
	encoder := jsontext.NewEncoder(&out)
	if err := writeNode(encoder, document.Content[0]); err != nil {
		return nil, err
	}
	return jsontext.Value(bytes.TrimSpace(out.Bytes())), nil
}

func writeNode(out *jsontext.Encoder, node *yaml.Node) error {
	switch node.Kind {
	case yaml.MappingNode:
		return writeList(out, node, jsontext.BeginObject, jsontext.EndObject)
	case yaml.SequenceNode:
		return writeList(out, node, jsontext.BeginArray, jsontext.EndArray)
	case yaml.ScalarNode:
		return atLine(node, writeScalar(out, node))
	default:
		return atLine(node, errors.New("aliases are not allowed; write the value out"))
	}
}

// writeList writes a mapping's names and values, or a sequence's items: both are
// consecutive nodes.
func writeList(out *jsontext.Encoder, node *yaml.Node, begin, end jsontext.Token) error {
	if err := out.WriteToken(begin); err != nil {
		return atLine(node, err)
	}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.ShortTag() != "!!str" {
			return atLine(child, fmt.Errorf("the name %q must be a string; quote it", child.Value))
		}
		if err := writeNode(out, child); err != nil {
			return err
		}
	}
	return atLine(node, out.WriteToken(end))
}

func writeScalar(out *jsontext.Encoder, node *yaml.Node) error {
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		return out.WriteToken(jsontext.String(node.Value))
	case "!!null":
		return out.WriteToken(jsontext.Null)
	case "!!bool":
		return out.WriteToken(jsontext.Bool(node.Value == "true" || node.Value == "True" || node.Value == "TRUE"))
	case "!!int", "!!float":
		value := jsontext.Value(node.Value)
		if !value.IsValid() || len(value) > 32 || bytes.ContainsAny(value, "eE") {
			return fmt.Errorf("%q must be written as a plain decimal number", node.Value)
		}
		return out.WriteValue(value)
	default:
		return fmt.Errorf("the tag %s is not allowed", node.Tag)
	}
}

func atLine(node *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", node.Line, err)
}
