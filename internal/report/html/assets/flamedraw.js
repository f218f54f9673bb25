// Draws the visible part of the flame graph on a canvas.

const boxHeight = 22;
const smallest = 0.5; // narrower boxes, in pixels, are merged

// A palette holds the colours and fonts of the theme.
function makePalette(methods, dark, colourOf) {
	const style = getComputedStyle(document.documentElement);
	const read = (name) => style.getPropertyValue(name).trim();
	const assigned = assignHues(new Set(methods.map(groupOf)));
	return {
		dark,
		hueOf: assigned,
		boxOf: boxesOf(methods, assigned, dark, colourOf),
		dots: methods.map((method) => dotColour(categoryHues[method.category] ?? assigned.get(groupOf(method)), dark)),
		ink: read("--ink"),
		soft: read("--ink-soft"),
		paper: read("--paper"),
		sunken: read("--sunken"),
		found: read("--found"),
		foundBox: dark ? "oklch(0.55 0.15 350)" : "oklch(0.8 0.13 350)",
		accent: read("--accent"),
		font: "12px " + read("--sans"),
		hatch: makeHatch(dark),
	};
}

// boxesOf returns the function that gives the colour of a node: colourOf, or that of its category or package.
function boxesOf(methods, hueOf, dark, colourOf) {
	if (colourOf) return (node) => colourOf(node, dark);
	const boxes = methods.map((method) =>
		method.category in categoryHues ? categoryColour(method.category, dark) : boxColour(hueOf.get(groupOf(method)), method.cls, dark),
	);
	return (node) => boxes[node.method];
}

function makeHatch(dark) {
	const tile = document.createElement("canvas");
	tile.width = tile.height = 6;
	const pen = tile.getContext("2d");
	pen.strokeStyle = dark ? "rgb(0 0 0 / .38)" : "rgb(255 255 255 / .78)";
	pen.lineWidth = 1.6;
	pen.beginPath();
	for (const shift of [-6, 0, 6]) {
		pen.moveTo(shift - 1, 7);
		pen.lineTo(shift + 7, -1);
	}
	pen.stroke();
	return pen.createPattern(tile, "repeat");
}

// rowTop returns where the boxes of a depth begin.
function rowTop(view, depth) {
	return view.isUpward ? view.content - (depth + 1) * boxHeight : depth * boxHeight;
}

// drawFlame draws the part of a tree between view.from and view.to, from the row at
// view.scroll on. It skips the callees of nodes narrower than a pixel, so the work is bounded
// by the number of pixels.
function drawFlame(pen, tree, view, palette, marks) {
	const { width, height, from, to, scroll } = view;
	const scale = width / (to - from);
	pen.clearRect(0, 0, width, height);
	pen.font = palette.font;
	pen.textBaseline = "middle";
	const waiting = [tree.top];
	while (waiting.length > 0) {
		const node = waiting.pop();
		const y = rowTop(view, node.depth) - scroll;
		if (view.isUpward ? y + boxHeight < 0 : y > height) continue;
		const left = (node.x - from) * scale;
		const right = left + node.width * scale;
		if (y + boxHeight > 0 && y < height) drawBox(pen, node, tree, left, right, y, view, palette, marks);
		pushVisible(waiting, node, pen, view, scale, rowTop(view, node.depth + 1) - scroll, palette);
	}
}

// pushVisible adds the visible callees. Runs of narrow ones are merged.
function pushVisible(waiting, node, pen, view, scale, y, palette) {
	let dustFrom = -1;
	let dustTo = -1;
	for (const child of node.children) {
		const left = (child.x - view.from) * scale;
		const right = left + child.width * scale;
		if (right < 0) continue;
		if (left > view.width) break;
		if (right - left >= smallest) {
			waiting.push(child);
		} else if (child.width > 0) {
			if (dustFrom < 0) dustFrom = left;
			dustTo = right;
		}
	}
	if (dustFrom >= 0 && y + boxHeight > 0 && y < view.height) {
		pen.globalAlpha = 0.5;
		pen.fillStyle = palette.soft;
		pen.fillRect(dustFrom, y, Math.max(0.5, dustTo - dustFrom), boxHeight - 1);
		pen.globalAlpha = 1;
	}
}

function drawBox(pen, node, tree, left, right, y, view, palette, marks) {
	const x = Math.max(left, 0);
	const width = Math.min(right, view.width) - x;
	const gap = width > 3 ? 1 : 0;
	const isAbove = view.zoomed !== tree.top && node.depth < view.zoomed.depth;
	const isFound = marks.found && marks.found.has(node);
	const isDimmed = marks.found && !isFound;
	pen.globalAlpha = isDimmed ? (palette.dark ? 0.4 : 0.42) : isAbove ? 0.6 : 1;
	pen.fillStyle = isFound ? palette.foundBox : node.method < 0 ? palette.sunken : palette.boxOf(node);
	fillRounded(pen, x, y, width - gap, boxHeight - 1);
	if (width > 4 && node.method >= 0 && isUnclear(node)) {
		pen.fillStyle = palette.hatch;
		fillRounded(pen, x, y, width - gap, boxHeight - 1);
	}
	if (width > 4 && node.handed) {
		pen.fillStyle = palette.accent;
		pen.fillRect(x, y, 2, boxHeight - 1);
	}
	pen.globalAlpha = isDimmed ? 0.65 : 1;
	if (width > 26) drawLabel(pen, labelsOf(node, tree, marks.methods), x + 6, y + boxHeight / 2, width - 12, node.method < 0 ? palette.soft : palette.ink);
	pen.globalAlpha = 1;
	if (node === marks.selected || node === marks.hovered) {
		pen.strokeStyle = node === marks.selected ? palette.accent : palette.ink;
		pen.lineWidth = node === marks.selected ? 2 : 1;
		const inset = pen.lineWidth / 2;
		pen.strokeRect(x + inset, y + inset, Math.max(1, width - gap - 2 * inset), boxHeight - 1 - 2 * inset);
	}
}

function fillRounded(pen, x, y, width, height) {
	if (width < 6) {
		pen.fillRect(x, y, width, height);
		return;
	}
	pen.beginPath();
	pen.roundRect(x, y, width, height, 2.5);
	pen.fill();
}

// labelsOf returns the possible labels of a box, the longest first.
function labelsOf(node, tree, methods) {
	if (node.method < 0) return [`${tree.label} · ${nanos(tree.total)}`, tree.label];
	const method = methods[node.method];
	return [`${method.brief}  ${share(node.total / tree.total)}`, method.brief, method.member.slice(1) || method.brief];
}

function drawLabel(pen, labels, x, y, room, ink) {
	pen.fillStyle = ink;
	for (const label of labels) {
		if (pen.measureText(label).width <= room) {
			pen.fillText(label, x, y);
			return;
		}
	}
	const last = labels[labels.length - 1];
	let fitting = Math.floor((last.length * room) / pen.measureText(last).width);
	while (fitting >= 2 && pen.measureText(last.slice(0, fitting) + "…").width > room) fitting--;
	if (fitting >= 2) pen.fillText(last.slice(0, fitting) + "…", x, y);
}
