package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Command is a command that can be a look.
type Command struct {
	Name       string
	Summary    string
	Properties []Property
	Result     any                    // a value of the type of its documents
	Line       func(r Request) string // the command line, for people
}

// A Property is an option of a command, or an argument.
type Property struct {
	Name        string
	Description string
	Type        string // boolean, integer, string, or array, whose elements are strings
	Default     string // for people
	Required    bool
}

// check checks the names and types of options.
func (c *Command) check(options map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		i := slices.IndexFunc(c.Properties, func(p Property) bool { return p.Name == name })
		if i < 0 {
			return fmt.Errorf("%s has no property %q", c.Name, name)
		}
		var into any
		switch c.Properties[i].Type {
		case "boolean":
			into = new(bool)
		case "integer":
			into = new(int64)
		case "array":
			into = new([]string)
		default:
			into = new(string)
		}
		if err := json.Unmarshal(options[name], into); err != nil {
			return fmt.Errorf("%s must be of the type %s", name, c.Properties[i].Type)
		}
	}
	for _, p := range c.Properties {
		if _, is := options[p.Name]; p.Required && !is {
			return fmt.Errorf("%s is missing", p.Name)
		}
	}
	return nil
}

// A call is a request that the service answers.
type call struct {
	method, path string
	summary      string
	body, result any    // values of their types; nil if there is none
	status       int    // of success
	media        string // of the answer, if it is not JSON
	answer       func(http.ResponseWriter, *http.Request) error
}

const (
	eventStream = "text/event-stream"
	anyFile     = "application/octet-stream"
	yamlFile    = "application/yaml"
)

func (s *Service) calls() []call {
	return []call{
		{method: "GET", path: "/v1/service", summary: "The service", result: About{}, answer: s.getService},
		{method: "DELETE", path: "/v1/service", summary: "End the service, with all looks", result: About{}, status: http.StatusAccepted, answer: s.deleteService},
		{method: "GET", path: "/v1/looks", summary: "The looks that run and those whose results are kept, the newest first", result: List{}, answer: s.getLooks},
		{method: "POST", path: "/v1/looks/{kind}", answer: s.postLook}, // described for each kind
		{method: "GET", path: "/v1/looks/{number}", summary: "A look", result: Description{}, answer: s.getLook},
		{method: "GET", path: "/v1/looks/{number}/events", summary: "The events of a look that runs, from the first that is kept", media: eventStream, answer: s.getEvents},
		{method: "POST", path: "/v1/looks/{number}/end", summary: "End a look; the answer comes when its hooks are removed", result: Description{}, answer: s.postEnd},
		{method: "GET", path: "/v1/looks/{number}/result", summary: "The result of a look that has ended, in one of its formats", media: anyFile, answer: s.getResult},
		{method: "POST", path: "/v1/looks/{number}/keys", summary: "Keys that a user has pressed", body: Keys{}, status: http.StatusNoContent, answer: s.postKeys},
		{method: "PUT", path: "/v1/looks/{number}/terminal", summary: "The size of the terminal that shows the frames", body: Terminal{}, status: http.StatusNoContent, answer: s.putTerminal},
		{method: "GET", path: "/v1/looks/{number}/probes", summary: "The probes that a look of the kind apply has applied", media: yamlFile, answer: s.part("probes")},
		{method: "PUT", path: "/v1/looks/{number}/probes", summary: "Apply other probes, or with dryRun return what that would change", answer: s.part("probes")},
		{method: "GET", path: "/v1/looks/{number}/status", summary: "The measurements of a look of the kind apply", answer: s.part("status")},
		{method: "GET", path: "/v1/openapi.json", summary: "This document", answer: s.getOpenAPI},
	}
}

func (s *Service) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, s.OpenAPI())
}

type object = map[string]any

// OpenAPI returns the document that describes the requests, built from the code that answers
// them and from the flags of the commands.
func (s *Service) OpenAPI() map[string]any {
	b := &schemas{named: object{}}
	paths := object{}
	add := func(path, method string, operation object) {
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(method)] = operation
	}
	for _, c := range s.calls() {
		if c.path == "/v1/looks/{kind}" {
			for _, command := range s.Runner.Commands() {
				add("/v1/looks/"+command.Name, c.method, b.lookOperation(&command))
			}
			continue
		}
		add(c.path, c.method, b.operation(&c))
	}
	b.of(reflect.TypeOf(Text{}))
	b.of(reflect.TypeOf(Frame{}))
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Sonde", "version": "1",
			"description": "The host service of Sonde, at the Unix socket that sonde status --service names, or with a token at the address of " +
				"sonde serve --listen. The events of a look have one of the names look (Description), message (Text), ready, frame (Frame), " +
				"text (Text), document (the result type of the look's kind) and end (Description), which is the last.",
		},
		"paths": paths,
		"components": object{
			"schemas":         b.named,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
		"security": []any{object{"token": []any{}}, object{}},
	}
}

// operation describes a call.
func (b *schemas) operation(c *call) object {
	operation := object{"summary": c.summary, "operationId": operationName(c.method, c.path)}
	var parameters []any
	for part := range strings.SplitSeq(c.path, "/") {
		if name, is := strings.CutPrefix(part, "{"); is {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "integer"}})
		}
	}
	switch {
	case strings.HasSuffix(c.path, "/result"):
		parameters = append(parameters, queryParameter("format", "string", "one of the formats of the look; json if there is none"))
	case strings.HasSuffix(c.path, "/probes") && c.method == "PUT":
		parameters = append(parameters, queryParameter("dryRun", "boolean", "change nothing"))
		operation["requestBody"] = object{"required": true, "content": object{yamlFile: object{"schema": object{"type": "string"}}}}
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	if c.body != nil {
		operation["requestBody"] = object{"required": true, "content": b.content("application/json", c.body)}
	}
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	success := object{"description": http.StatusText(status)}
	switch {
	case c.media != "":
		success["content"] = object{c.media: object{"schema": object{"type": "string"}}}
	case c.result != nil:
		success["content"] = b.content("application/json", c.result)
	case status == http.StatusOK:
		success["content"] = object{"application/json": object{"schema": object{"type": "object"}}}
	}
	operation["responses"] = object{fmt.Sprint(status): success, "default": b.problem()}
	return operation
}

func queryParameter(name, kind, description string) object {
	return object{"name": name, "in": "query", "required": false, "schema": object{"type": kind}, "description": description}
}

func operationName(method, path string) string {
	name := strings.ToLower(method)
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(path, "/v1/"), ".json"), "/") {
		if !strings.HasPrefix(part, "{") {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return name
}

// lookOperation describes how a look of one kind is asked for.
func (b *schemas) lookOperation(c *Command) object {
	properties := object{
		propertyPID:        object{"type": "integer", "description": "the process number of the JVM"},
		propertyBackground: object{"type": "boolean", "description": "answer at once; the look goes on without a client"},
		propertyText:       object{"type": "boolean", "description": "report text for people instead of documents"},
		propertyTerminal:   b.of(reflect.TypeOf(Terminal{})),
	}
	required := []string{propertyPID}
	for _, p := range c.Properties {
		schema := object{"type": p.Type, "description": p.Description}
		if p.Type == "array" {
			schema["items"] = object{"type": "string"}
		}
		if p.Default != "" {
			schema["description"] = p.Description + " (default " + p.Default + ")"
		}
		properties[p.Name] = schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	name := strings.ToUpper(c.Name[:1]) + c.Name[1:]
	b.named[name+"Request"] = object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	b.named[name+"Document"] = b.of(reflect.TypeOf(c.Result))
	return object{
		"summary": c.Summary, "operationId": c.Name,
		"description": "The events are the answer, until the look has ended; a client that closes the connection ends its look. A look in the background has its description as the answer.",
		"requestBody": object{"required": true, "content": object{"application/json": object{"schema": reference(name + "Request")}}},
		"responses": object{
			"200":     object{"description": "the events", "content": object{eventStream: object{"schema": object{"type": "string"}}}},
			"201":     object{"description": "the look, in the background", "content": b.content("application/json", Description{})},
			"default": b.problem(),
		},
	}
}

func (b *schemas) problem() object {
	return object{"description": "the request failed", "content": b.content("application/json", Problem{})}
}

func (b *schemas) content(media string, value any) object {
	return object{media: object{"schema": b.of(reflect.TypeOf(value))}}
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// schemas collects the schemas of types.
type schemas struct{ named object }

var (
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()
)

// of returns the schema of a type; a struct with a name is only defined once.
func (b *schemas) of(t reflect.Type) object {
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t.Implements(textType):
		return object{"type": "string"}
	case t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType):
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": b.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": b.of(t.Elem())}
	case reflect.Struct:
		return b.structure(t)
	}
	return object{}
}

func (b *schemas) structure(t reflect.Type) object {
	if t.Name() == "" {
		return b.fields(t)
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if strings.Contains(name, "[") {
		return b.fields(t)
	}
	if b.named[name] == nil {
		b.named[name] = object{} // ends recursion
		b.named[name] = b.fields(t)
	}
	return reference(name)
}

func (b *schemas) fields(t reflect.Type) object {
	properties := object{}
	required := []string{}
	b.addFields(t, properties, &required)
	return object{"type": "object", "properties": properties, "required": required}
}

func (b *schemas) addFields(t reflect.Type, properties object, required *[]string) {
	for field := range t.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case field.Anonymous && tag == "" && inner.Kind() == reflect.Struct:
			b.addFields(inner, properties, required)
		case !field.IsExported():
		default:
			if tag == "" {
				tag = field.Name
			}
			properties[tag] = b.of(field.Type)
			if !strings.Contains(options, "omit") {
				*required = append(*required, tag)
			}
		}
	}
}
