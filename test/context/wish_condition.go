package context

import "slices"

// condition draws one; joined ones are of those that are not, or of few joins.
func (w *wisher) condition(tags []wishedTag, depth int) *condition {
	if n := w.IntN(5); depth < 2 && n < 3 {
		made := condition{join: []string{"&&", "||", "!"}[n]}
		made.parts = append(made.parts, *w.condition(tags, depth+1))
		if made.join != "!" {
			made.parts = append(made.parts, *w.condition(tags, depth+1))
		}
		return &made
	}
	made := condition{tag: -1, path: pick(w.Rand, accessors)}
	isText := made.path.isText
	if w.IntN(4) == 0 {
		made.tag = w.IntN(3)
		made.name, made.path, isText = tags[made.tag].name, accessor{}, true
	}
	switch n := w.IntN(10); {
	case n == 0 && isText:
		made.op, made.values = pick(w.Rand, []string{"==", "!="}), []value{text(nil)}
	case n < 3:
		made.op, made.values = "in", []value{w.constant(made, isText), w.constant(made, isText), w.constant(made, isText)}
	default:
		made.op, made.values = pick(w.Rand, []string{"==", "!=", "<", "<=", ">", ">="}), []value{w.constant(made, isText)}
	}
	return &made
}

// constant draws one that some calls are equal to.
func (w *wisher) constant(of condition, isText bool) value {
	switch {
	case of.name == "amount":
		return value{isText: true, text: number(pick(w.Rand, orders[:]).amount).literal()}
	case isText:
		return value{isText: true, text: pick(w.Rand, slices.Clone(words[:]))}
	}
	return number(w.IntN(100))
}
