package pagetest

import (
	"strconv"
	"unicode/utf8"
)

// A Point is a place in the window, in pixels.
type Point struct{ X, Y float64 }

// Place scrolls an element into sight and returns the point at parts of its width and
// height. It ends the test where something else covers that point: a user could not
// reach it.
func (p *Page) Place(selector string, right, down float64) Point {
	p.t.Helper()
	var place struct {
		X, Y  float64
		Error string
	}
	p.Eval(`(() => {
		const element = document.querySelector(`+strconv.Quote(selector)+`);
		if (!element) return { Error: "is not in the page" };
		element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
		const box = element.getBoundingClientRect();
		const X = box.left + box.width * `+number(right)+`;
		const Y = box.top + box.height * `+number(down)+`;
		const hit = document.elementFromPoint(X, Y);
		if (element.contains(hit)) return { X, Y };
		return { Error: "cannot be reached: there is " + (hit ? hit.outerHTML.slice(0, 120) : "nothing") };
	})()`, &place)
	if place.Error != "" {
		p.t.Fatalf("%s %s", selector, place.Error)
	}
	return Point{place.X, place.Y}
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Click clicks the middle of an element.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.ClickAt(p.Place(selector, 0.5, 0.5))
}

// ClickAt moves the mouse to a point and clicks.
func (p *Page) ClickAt(at Point) {
	p.t.Helper()
	p.Drag(at, at)
}

// Hover moves the mouse to a point.
func (p *Page) Hover(at Point) {
	p.t.Helper()
	p.mouse("mouseMoved", at, "none", 0)
}

// Drag presses the mouse at a point and releases it at another.
func (p *Page) Drag(from, to Point) {
	p.t.Helper()
	p.Hover(from)
	p.mouse("mousePressed", from, "left", 1)
	if from != to {
		p.mouse("mouseMoved", to, "left", 0)
	}
	p.mouse("mouseReleased", to, "left", 1)
	p.settle()
}

// DoubleClick clicks the middle of an element twice.
func (p *Page) DoubleClick(selector string) {
	p.t.Helper()
	at := p.Place(selector, 0.5, 0.5)
	p.ClickAt(at)
	p.mouse("mousePressed", at, "left", 2)
	p.mouse("mouseReleased", at, "left", 2)
	p.settle()
}

func (p *Page) mouse(kind string, at Point, button string, clicks int) {
	p.t.Helper()
	held := 0
	if button == "left" && kind != "mouseReleased" {
		held = 1
	}
	p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": button, "buttons": held, "clickCount": clicks}, nil)
}

// Type presses keys one after the other: those of a text.
func (p *Page) Type(text string) {
	p.t.Helper()
	for _, key := range text {
		p.key(string(key))
	}
	p.settle()
}

// Press presses a key, by the name that scripts see: a character, Enter, ArrowDown.
func (p *Page) Press(key string) {
	p.t.Helper()
	p.key(key)
	p.settle()
}

func (p *Page) key(key string) {
	p.t.Helper()
	params := map[string]any{"type": "keyDown", "key": key}
	if utf8.RuneCountInString(key) == 1 {
		params["text"] = key
	}
	p.call("Input.dispatchKeyEvent", params, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}
