// The flat list: every method over all its contexts.

class MethodsTab {
	constructor(methods, isSamples, onPick) {
		this.methods = methods;
		this.found = null;
		this.sort = { key: "self", descending: true };
		this.shown = [];
		const part = (time) => time / (this.tree.extent > 0 ? this.tree.extent : 1);
		this.columns = columnsFor(isSamples, [
			{ key: "method", width: 240, text: "Method", cell: (sum) => this.nameCell(sum) },
			{ key: "self", width: 150, text: "Self", title: "Without callees, over all contexts; ~ by sampled stacks", cell: (sum) => figureCell(selfText(sum), part(sum.self)) },
			{ key: "error", width: 100, text: "± self", ofHooks: true, title: "The true value lies within this distance", cell: errorCell },
			{ key: "mean", width: 92, text: "Self per call", ofHooks: true, cell: (sum) => figureCell(!isTimed(sum) || sum.calls === 0 ? "–" : mean(sum.self / sum.calls)) },
			{ key: "total", width: isSamples ? 150 : 96, text: "Total", title: "With callees; recursive calls count once", cell: (sum) => figureCell(totalText(sum), isSamples ? part(sum.total) : undefined) },
			{ key: "calls", width: 110, ...callsColumn(isSamples), cell: (sum) => figureCell(callsText(sum, methods[sum.method])) },
			{ key: "threw", width: 98, text: "Exceptions", ofHooks: true, cell: (sum) => figureCell(sum.threw > 0 ? count(sum.threw) : "", undefined, "soft") },
			{ key: "contexts", width: 76, text: "Contexts", title: "Places in the tree", cell: (sum) => figureCell(count(sum.contexts), undefined, "soft") },
		]);
		this.rows = new Rows(byId("methods-table"), {
			role: "grid",
			label: "Methods",
			columns: this.columns,
			makeRow: (i) => this.makeRow(this.shown[i]),
			onActivate: (i) => this.shown[i] && onPick(this.shown[i].method),
			onSort: (key) => this.sortBy(key),
		});
		this.none = make("p", "none", "No method matches.");
		this.rows.host.append(this.none);
	}

	show(tree) {
		this.tree = tree;
		this.sums = sumMethods(tree, this.methods.length).concat(offMethods(tree, this.methods));
		this.refresh();
	}

	paint(palette) {
		this.palette = palette;
		this.rows.draw();
	}

	mark(found) {
		this.found = found;
		this.refresh();
		this.rows.body.scrollTop = 0;
	}

	sortBy(key) {
		const descending = key === this.sort.key ? !this.sort.descending : key !== "method";
		this.sort = { key, descending };
		this.refresh();
	}

	// refresh sorts the methods and applies the search.
	refresh() {
		const wanted = this.found ? this.sums.filter((sum) => this.found.isMethodFound[sum.method]) : this.sums;
		this.shown = sortMethods(wanted, this.methods, this.sort.key, this.sort.descending);
		this.rows.showSort(this.sort.key, this.sort.descending);
		this.none.hidden = this.shown.length > 0;
		this.none.textContent = this.found ? "No method matches." : "No method was called.";
		this.rows.resize(this.shown.length);
	}

	sumOf(method) {
		return this.sums.find((sum) => sum.method === method);
	}

	// reveal makes a method the current row, if it is listed.
	reveal(method) {
		const at = this.shown.findIndex((sum) => sum.method === method);
		if (at >= 0) this.rows.moveTo(at);
	}

	nameCell(sum) {
		const dot = make("span", "dot");
		dot.style.background = this.palette ? this.palette.dots[sum.method] : "";
		const method = this.methods[sum.method];
		const name = nameElement(method, this.found);
		name.title = method.full + method.signature;
		const first = make("div", "cell", dot, name, ...marksOf(sum, method));
		first.setAttribute("role", "gridcell");
		return first;
	}

	makeRow(sum) {
		return make("div", "", ...this.columns.map((column) => column.cell(sum)));
	}
}
