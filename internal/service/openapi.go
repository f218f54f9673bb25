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

	"github.com/sonde-jvm/sonde/internal/report/document"
)

// A Command is a command that can be a look.
type Command struct {
	Name       string
	Summary    string
	Properties []Property
	Result     any                    // a value of the type of its documents
	More       map[string]any         // values of other types of its documents and results, by the name of the schema
	Parts      map[string]any         // values of the types of answers, by method and part, such as GET status
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
	name         string // for functions of generated clients
	summary      string
	body, result any    // values of their types; nil if there is none
	status       int    // of success
	media        string // of the answer, if it is not JSON
	answer       func(http.ResponseWriter, *http.Request) error
}

const (
	eventStream = "text/event-stream"
	anyFile     = "application/octet-stream"
	plainText   = "text/plain"
)

func (s *Service) calls() []call {
	const look, jvm = "/v1/looks/{number}", "/v1/jvms/{pid}"
	return []call{
		{method: "GET", path: "/v1/service", name: "getService", summary: "The service", result: About{}, answer: s.getService},
		{method: "DELETE", path: "/v1/service", name: "endService", summary: "End the service, with all looks", result: About{}, status: http.StatusAccepted, answer: s.deleteService},
		{method: "GET", path: "/v1/looks", name: "listLooks", summary: "The looks that run and those whose results are kept, the newest first", result: List{}, answer: s.getLooks},
		{method: "POST", path: "/v1/looks/{kind}", answer: s.postLook}, // described for each kind
		{method: "GET", path: look, name: "getLook", summary: "A look", result: Description{}, answer: s.getLook},
		{method: "GET", path: look + "/events", name: "getEvents", summary: "The events of a look that runs, from the first that is kept", media: eventStream, answer: s.getEvents},
		{method: "POST", path: look + "/end", name: "endLook", summary: "End a look; the answer comes when its hooks are removed", result: Description{}, answer: s.postEnd},
		{method: "GET", path: look + "/result", name: "getResult", summary: "The result of a look that has ended, in one of its formats", media: anyFile, answer: s.getResult},
		{method: "POST", path: look + "/keys", name: "pressKeys", summary: "Keys that a user has pressed", body: Keys{}, status: http.StatusNoContent, answer: s.postKeys},
		{method: "PUT", path: look + "/terminal", name: "setTerminal", summary: "The size of the terminal that shows the frames", body: Terminal{}, status: http.StatusNoContent, answer: s.putTerminal},
		{method: "GET", path: look + "/probes", name: "getProbes", summary: "The probes that a look of the kind apply has applied, as YAML", media: plainText, answer: s.part("probes")},
		{method: "PUT", path: look + "/probes", name: "setProbes", summary: "Apply other probes, or with dryRun return what that would change", answer: s.part("probes")},
		{method: "GET", path: look + "/status", name: "getStatus", summary: "The measurements of a look of the kind apply", answer: s.part("status")},
		{method: "GET", path: "/v1/jvms", name: "listJVMs", summary: "The JVMs of this host", result: JVMs{}, answer: s.getJVMs},
		{method: "GET", path: jvm, name: "getJVM", summary: "What Sonde does in a JVM", result: Status{}, answer: aboutJVM(s.status)},
		{method: "GET", path: jvm + "/doctor", name: "examineJVM", summary: "Whether Sonde can enter a JVM, and what hinders it, seen from outside", result: document.Doctor{}, answer: aboutJVM(s.examine)},
		{method: "POST", path: jvm + "/doctor", name: "examineJVMDeeply", summary: "Whether Sonde can enter a JVM, and which methods would get hooks", body: Examination{}, result: document.Doctor{}, answer: aboutJVM(s.examine)},
		{method: "POST", path: jvm + "/undo", name: "undoJVM", summary: "Remove everything that Sonde has put into a JVM, and files of processes that have ended", result: document.Undone{}, answer: aboutJVM(s.undo)},
		{method: "GET", path: "/v1/openapi.json", name: "getOpenAPI", summary: "This document", answer: s.getOpenAPI},
	}
}

func (s *Service) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, s.OpenAPI())
}

type object = map[string]any

// OpenAPI returns the document that describes the requests, built from the code that answers
// them and from the flags of the commands.
func (s *Service) OpenAPI() map[string]any {
	b := &schemas{named: object{}, types: maps.Clone(schemaNames)}
	parts := map[string]any{}
	for _, command := range s.Runner.Commands() {
		if result := reflect.TypeOf(command.Result); b.types[result] == "" { // the first command with a type names it
			b.types[result] = capital(command.Name) + "Document"
		}
		for name, value := range command.More {
			b.types[reflect.TypeOf(value)] = name
		}
		maps.Copy(parts, command.Parts)
	}
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
		if part, is := parts[c.method+" "+c.path[strings.LastIndexByte(c.path, '/')+1:]]; is {
			c.result = part
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
				"sonde serve --listen. The events of a look have one of the names look (Look), message (Text), ready, frame (Frame), " +
				"text (Text), document (such as CountDocument for a look of the kind count) and end (Look), which is the last. " +
				"A result in the format json is such a document too. A trace reports TraceDocuments and at last a TraceEnd; its result is a TraceResult.",
		},
		"paths": paths,
		"components": object{
			"schemas":         b.named,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
		"security": []any{object{"token": []any{}}, object{}},
	}
}

func (b *schemas) operation(c *call) object {
	operation := object{"summary": c.summary, "operationId": c.name}
	var parameters []any
	for part := range strings.SplitSeq(c.path, "/") {
		if name, is := strings.CutPrefix(part, "{"); is {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": b.of(reflect.TypeFor[int]())})
		}
	}
	switch {
	case c.path == "/v1/looks":
		parameters = append(parameters, queryParameter("state", "string", "only looks in this state: running, ended or lost"))
	case strings.HasSuffix(c.path, "/result"):
		parameters = append(parameters, queryParameter("format", "string", "one of the formats of the look; json if omitted"))
	case strings.HasSuffix(c.path, "/probes") && c.method == "PUT":
		parameters = append(parameters, queryParameter("dryRun", "boolean", "change nothing"))
		operation["requestBody"] = object{
			"required": true, "description": "YAML: docs/formats/probes.md", "content": object{anyFile: object{"schema": binary}},
		}
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	if c.body != nil {
		operation["requestBody"] = object{"required": true, "content": b.content(c.body)}
	}
	status := c.status
	if status == 0 {
		status = http.StatusOK
	}
	success := object{"description": http.StatusText(status)}
	switch {
	case c.media == anyFile:
		success["content"] = object{anyFile: object{"schema": binary}}
	case c.media != "":
		success["content"] = object{c.media: object{"schema": object{"type": "string"}}}
	case c.result != nil:
		success["content"] = b.content(c.result)
	case status == http.StatusOK:
		success["content"] = object{"application/json": object{"schema": object{"type": "object"}}}
	}
	operation["responses"] = object{fmt.Sprint(status): success, "default": b.problem()}
	return operation
}

// binary is the schema of a file. OpenAPI 3.1 needs none, but generators know this one.
var binary = object{"type": "string", "format": "binary"}

func queryParameter(name, kind, description string) object {
	return object{"name": name, "in": "query", "required": false, "schema": object{"type": kind}, "description": description}
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// lookOperation describes how a look of one kind is asked for.
func (b *schemas) lookOperation(c *Command) object {
	properties := object{
		propertyPID:        object{"type": "integer", "format": "int64", "description": "the process number of the JVM"},
		propertyBackground: object{"type": "boolean", "description": "answer at once; the look goes on without a client"},
		propertyText:       object{"type": "boolean", "description": "report text for people instead of documents"},
		propertyTerminal:   b.of(reflect.TypeOf(Terminal{})),
	}
	required := []string{propertyPID}
	for _, p := range c.Properties {
		schema := object{"type": p.Type, "description": p.Description}
		switch p.Type {
		case "array":
			schema["items"] = object{"type": "string"}
		case "integer":
			schema["format"] = "int64"
		}
		if p.Default != "" {
			schema["description"] = p.Description + " (default " + p.Default + ")"
		}
		properties[p.Name] = schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	name := capital(c.Name)
	b.named[name+"Request"] = object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	b.document(c.Result)
	for _, other := range slices.Sorted(maps.Keys(c.More)) {
		b.document(c.More[other])
	}
	return object{
		"summary": c.Summary, "operationId": "start" + name,
		"description": "The answer is a stream of events until the look ends; closing the connection ends the look. A look in the background has its description as the answer.",
		"requestBody": object{"required": true, "content": object{"application/json": object{"schema": reference(name + "Request")}}},
		"responses": object{
			"200":     object{"description": "the events", "content": object{eventStream: object{"schema": object{"type": "string"}}}},
			"201":     object{"description": "the look, in the background", "content": b.content(Description{})},
			"default": b.problem(),
		},
	}
}

func (b *schemas) problem() object {
	return object{"description": "the request failed", "content": b.content(Problem{})}
}

func (b *schemas) content(value any) object {
	return object{"application/json": object{"schema": b.of(reflect.TypeOf(value))}}
}

// partsOfOthers are documents that are also parts of others, where they have no format of their own: a transaction of
// a trace, looks and JVMs in lists.
var partsOfOthers = []reflect.Type{reflect.TypeFor[document.Transaction](), reflect.TypeFor[Description](), reflect.TypeFor[document.JVM]()}

// document adds the schema of a document that commands write, which begins with its format and version.
func (b *schemas) document(value any) {
	t := reflect.TypeOf(value)
	b.of(t)
	schema := b.named[b.name(t)].(object)
	properties := schema["properties"].(object)
	if properties["version"] == nil && !slices.Contains(partsOfOthers, t) {
		schema["required"] = append(schema["required"].([]string), "format", "version")
	}
	properties["format"], properties["version"] = object{"type": "string", "const": document.Format(t)}, b.of(reflect.TypeFor[int]())
}

// Schemas returns the schemas of documents, by the names of their types.
func Schemas(values ...any) map[string]any {
	b := &schemas{named: object{}, types: maps.Clone(schemaNames)}
	for _, value := range values {
		b.document(value)
	}
	return b.named
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// schemas collects the schemas of types.
type schemas struct {
	named object
	types map[reflect.Type]string // types with a name that is not theirs
}

// schemaNames are names that are clear without the package.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[Description](): "Look",
	reflect.TypeFor[List]():        "LookList",
	reflect.TypeFor[About]():       "Service",
}

var (
	stateType     = reflect.TypeFor[State]()
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()
)

// of returns the schema of a type; a struct with a name is only defined once.
func (b *schemas) of(t reflect.Type) object {
	if t.Kind() == reflect.Pointer {
		return b.of(t.Elem())
	}
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t == stateType:
		return object{"type": "string", "enum": states}
	case t.Implements(textType) || reflect.PointerTo(t).Implements(textType):
		return object{"type": "string"}
	case t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType):
		return object{}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "format": "int64"} // generators would use 32 bits
	case reflect.Float32, reflect.Float64:
		return object{"type": "number", "format": "double"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "format": "byte"} // base64
		}
		return object{"type": "array", "items": b.of(t.Elem())}
	case reflect.Map:
		value := b.of(t.Elem())
		if kind, is := value["type"]; is && t.Elem().Kind() == reflect.Pointer {
			value["type"] = []any{kind, "null"}
		}
		return object{"type": "object", "additionalProperties": value}
	case reflect.Struct:
		return b.structure(t)
	}
	return object{}
}

func (b *schemas) structure(t reflect.Type) object {
	if t.Name() == "" {
		return b.fields(t)
	}
	if strings.Contains(t.Name(), "[") {
		return b.fields(t)
	}
	name := b.name(t)
	if b.named[name] == nil {
		b.named[name] = object{} // ends recursion
		b.named[name] = b.fields(t)
	}
	return reference(name)
}

// name returns the name of the schema of a type. A type whose name another package also has
// gets the name of its package too.
func (b *schemas) name(t reflect.Type) string {
	if name, is := b.types[t]; is {
		return name
	}
	name := capital(t.Name())
	if slices.Contains(slices.Collect(maps.Values(b.types)), name) {
		name = capital(t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]) + name
	}
	b.types[t] = name
	return name
}

func (b *schemas) fields(t reflect.Type) object {
	properties := object{}
	required := []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		isPart, mayBeNil := embedding(t, field.Index)
		switch {
		case name == "-" || !isPart || isEmbedded(&field) || !field.IsExported():
			continue
		case field.Type == reflect.TypeFor[*struct{}](): // hides a field of an embedded struct
			continue
		case name == "":
			name = field.Name
		}
		properties[name] = b.of(field.Type)
		if !strings.Contains(options, "omit") && !mayBeNil {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// embedding reports whether all structs on the way to a field are embedded, so that JSON has
// the field in the outer object, and whether one of them may be missing.
func embedding(t reflect.Type, index []int) (isPart, mayBeNil bool) {
	for i := 1; i < len(index); i++ {
		outer := t.FieldByIndex(index[:i])
		if !isEmbedded(&outer) {
			return false, false
		}
		mayBeNil = mayBeNil || outer.Type.Kind() == reflect.Pointer
	}
	return true, mayBeNil
}

func isEmbedded(field *reflect.StructField) bool {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	inner := field.Type
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	return field.Anonymous && name == "" && inner.Kind() == reflect.Struct
}
