// The tree of calling contexts, initially open along the hot path.

class TreeTab {
	constructor(methods, isSamples, onPick) {
		this.methods = methods;
		this.open = new Set();
		this.shown = [];
		this.found = null;
		const part = (time) => time / (this.tree.total > 0 ? this.tree.total : 1);
		this.columns = columnsFor(isSamples, [
			{ key: "method", width: 280, text: "Method in its context", cell: (node) => this.nameCell(node, this.open.has(node)) },
			{ key: "total", width: 150, text: "Total", title: "Self time of the context and of all below it", cell: (node) => figureCell(totalText(node), part(node.total)) },
			{ key: "self", width: 150, text: "Self", title: "Without callees; ~ by sampled stacks", cell: (node) => figureCell(selfText(node), part(node.self)) },
			{ key: "waits", width: 104, text: "Waits", ofHooks: true, title: "Part of the total in which threads waited, by sampled stacks, and for what mostly", cell: (node) => figureCell(waitText(node), undefined, "soft") },
			{ key: "mean", width: 92, text: "Mean", ofHooks: true, title: "Total of one call", cell: (node) => figureCell(meanText(node)) },
			{ key: "calls", width: 110, ...callsColumn(isSamples), cell: (node) => figureCell(callText(node, methods[node.method])) },
			{ key: "threw", width: 98, text: "Exceptions", ofHooks: true, title: "Calls that ended with an exception", cell: (node) => figureCell(node.threw > 0 ? count(node.threw) : "", undefined, "soft") },
			{ key: "error", width: 100, text: "± self", ofHooks: true, title: "The true value lies within this distance", cell: errorCell },
		]);
		this.rows = new Rows(byId("tree-table"), {
			role: "treegrid",
			label: "Calling contexts",
			columns: this.columns,
			makeRow: (i) => this.makeRow(this.shown[i]),
			onActivate: (i, byKey) => (byKey ? onPick(this.shown[i]) : this.toggle(this.shown[i])),
			onKey: (key, i) => this.key(key, i),
		});
	}

	show(tree) {
		this.tree = tree;
		this.open = new Set(hotPath(tree.top));
		this.refresh();
		this.rows.body.scrollTop = 0;
	}

	paint(palette) {
		this.palette = palette;
		this.rows.draw();
	}

	mark(found) {
		this.found = found;
		this.rows.draw();
	}

	// refresh lists the nodes whose callers are all open.
	refresh() {
		this.shown = [];
		const nodes = this.tree.nodes;
		for (let i = 1; i < nodes.length; i = this.open.has(nodes[i]) ? i + 1 : nodes[i].end) this.shown.push(nodes[i]);
		this.rows.resize(this.shown.length);
	}

	toggle(node) {
		if (!node || node.children.length === 0) return;
		if (this.open.has(node)) this.open.delete(node);
		else for (const opened of hotPath(node)) this.open.add(opened);
		this.refresh();
	}

	key(key, i) {
		const node = this.shown[i];
		if (!node) return false;
		const isOpen = this.open.has(node) && node.children.length > 0;
		if (key === "ArrowRight") {
			if (!isOpen) this.toggle(node);
			else this.rows.moveTo(i + 1);
		} else if (key === "ArrowLeft") {
			if (isOpen) this.toggle(node);
			else if (node.depth > 1) this.rows.moveTo(this.shown.indexOf(node.parent));
		} else if (key === " ") this.toggle(node);
		else return false;
		return true;
	}

	// reveal opens all callers of a node and scrolls to it.
	reveal(node) {
		for (const caller of pathTo(node.parent ?? node)) this.open.add(caller);
		this.refresh();
		this.rows.moveTo(this.shown.indexOf(node));
	}

	makeRow(node) {
		const isFound = this.found !== null && this.found.has(node);
		const row = make("div", isFound ? "found" : "");
		row.setAttribute("aria-level", String(node.depth));
		if (node.children.length > 0) row.setAttribute("aria-expanded", String(this.open.has(node)));
		row.append(...this.columns.map((column) => column.cell(node)));
		return row;
	}

	nameCell(node, isOpen) {
		const indent = make("span", "indent");
		indent.style.width = 14 * Math.min(node.depth - 1, 24) + "px";
		const twist = make("span", "twist" + (node.children.length === 0 ? " leaf" : ""), chevron());
		twist.dataset.open = String(isOpen);
		const dot = make("span", "dot");
		dot.style.background = this.palette ? this.palette.dots[node.method] : "";
		const name = nameElement(this.methods[node.method], this.found !== null && this.found.has(node) ? this.found : null);
		name.title = this.methods[node.method].full + this.methods[node.method].signature;
		const cell = make("div", "cell", indent, twist, dot, name, ...marksOf(node, this.methods[node.method]));
		cell.setAttribute("role", "gridcell");
		if (this.found && !isOpen && this.found.hasBelow(node)) {
			const below = make("span", "below");
			below.title = "Matches below";
			cell.append(below);
		}
		return cell;
	}
}

// columnsFor leaves out the columns of what only hooks can measure.
function columnsFor(isSamples, columns) {
	return columns.filter((column) => !isSamples || !column.ofHooks);
}

function callsColumn(isSamples) {
	return isSamples ? { text: "Samples", title: "Samples with the method on the stack" } : { text: "Calls", title: "Every call is counted; ≥ where HotSpot may replace the method" };
}

// errorCell shows the error of a self time, and how the time was obtained.
function errorCell(node) {
	const cell = figureCell(errorText(node), undefined, isUnsure(node) ? "unsure" : "soft");
	cell.title = sentencesOf(node).join(" ");
	return cell;
}
