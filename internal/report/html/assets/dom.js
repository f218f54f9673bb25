// make creates an element. Texts are set as text, so no name can become markup.
function make(tag, className, ...content) {
	const element = document.createElement(tag);
	if (className) element.className = className;
	element.append(...content.filter((part) => part !== null && part !== undefined));
	return element;
}

function byId(id) {
	return document.getElementById(id);
}

// nameElement returns a method's name in which the match of a search is marked.
function nameElement(method, found) {
	const element = make("span", "name");
	const range = found ? found.matcher.range(method.full) : null;
	let from = 0;
	for (const [className, text] of [["package", method.pkg], ["class", method.cls], ["member", method.member]]) {
		const part = make("span", className);
		appendMarked(part, text, range && [range[0] - from, range[1] - from]);
		element.append(part);
		from += text.length;
	}
	return element;
}

function appendMarked(element, text, range) {
	const low = range ? Math.min(text.length, Math.max(0, range[0])) : 0;
	const high = range ? Math.min(text.length, Math.max(0, range[1])) : 0;
	if (low >= high) {
		element.append(text);
		return;
	}
	element.append(text.slice(0, low), make("mark", "", text.slice(low, high)), text.slice(high));
}

// chevron returns the arrow of rows that can be opened.
function chevron() {
	const namespace = "http://www.w3.org/2000/svg";
	const drawing = document.createElementNS(namespace, "svg");
	drawing.setAttribute("viewBox", "0 0 12 12");
	drawing.setAttribute("aria-hidden", "true");
	const line = document.createElementNS(namespace, "path");
	line.setAttribute("d", "m4 2 4 4-4 4");
	drawing.append(line);
	return drawing;
}

// figureCell returns a cell with a number, on a bar if a part is given.
function figureCell(text, part, className) {
	const cell = make("div", "cell" + (className ? " " + className : ""));
	cell.setAttribute("role", "gridcell");
	if (part !== undefined) {
		const bar = make("span", "bar");
		bar.style.width = `calc(${Math.max(0, Math.min(1, part)) * 100}% - 8px)`;
		if (part > 0.004) cell.append(bar);
		cell.append(make("span", "figure", text, make("span", "part", text === "–" ? "" : share(part))));
	} else {
		cell.append(text);
	}
	return cell;
}

// marksOf returns labels for the flags of a node and of its method's hook.
function marksOf(node, method) {
	const marks = [];
	const add = (name, text) => {
		const mark = make("span", "mark " + name, text);
		mark.title = text; // in case a narrow window cuts it
		marks.push(mark);
	};
	if (method.on !== undefined) add("late", method.on > 0 ? `on for ${nanos(method.on)}` : "off");
	if (node.handed) add("handed", "on another thread");
	if (node.running > 0) add("running", "running");
	if (node.missed > 0) add("missed", "missed");
	if (node.late) add("late", "late");
	return marks;
}
