// The list of transactions, with sorting, a filter and a selection.

function clockText(date) {
	const pad = (n, width) => String(n).padStart(width, "0");
	return `${pad(date.getHours(), 2)}:${pad(date.getMinutes(), 2)}:${pad(date.getSeconds(), 2)}.${pad(date.getMilliseconds(), 3)}`;
}

function threadText(call) {
	return call.threadName || "thread " + call.thread;
}

function chipsOf(tags) {
	return tags.map(([name, value]) => make("span", "chip", name + "=", make("b", "", value)));
}

const rowsAtOnce = 500;

class TransactionList {
	constructor(transactions, pick) {
		this.transactions = transactions;
		this.pick = pick;
		this.query = "";
		this.sort = "durationNanos";
		this.descending = true;
		this.longest = Math.max(1, ...transactions.map((t) => t.durationNanos));
		this.body = make("tbody", "");
		this.columns = [
			["#", "number", (t) => make("td", "soft", String(t.number))],
			["When", "when", (t) => make("td", "soft", clockText(t.when))],
			["Duration", "durationNanos", (t) => this.durationCell(t)],
			["Calls", "calls", (t) => make("td", "", count(t.calls) + (t.lost ? "+" : ""))],
			["Exceptions", "errors", (t) => make("td", t.errors ? "bad" : "soft", t.errors ? count(t.errors) : "–")],
			["Thread", "thread", (t) => this.threadCell(t)],
			["Root", "root", (t) => make("td", "text", nameElement(t.root.name))],
			["Tags, values", "tags", (t) => make("td", "text tags", ...chipsOf(t.tags), ...chipsOf(valuesOf({ calls: [t.root] })))],
		];
		this.heads = this.columns.map(([title, key]) => this.head(title, key));
		byId("transactions").append(make("thead", "", make("tr", "", ...this.heads)), this.body);
		this.draw();
	}

	head(title, key) {
		const button = make("button", "", title);
		button.type = "button";
		button.addEventListener("click", () => {
			this.descending = this.sort === key ? !this.descending : !["root", "tags", "number", "when"].includes(key);
			this.sort = key;
			this.draw();
		});
		const cell = make("th", key === "root" || key === "tags" ? "text" : "", button);
		cell.scope = "col";
		cell.dataset.key = key;
		return cell;
	}

	threadCell(t) {
		const cell = make("td", "soft thread", threadText(t.root));
		cell.title = threadText(t.root);
		return cell;
	}

	durationCell(t) {
		const bar = make("i", "");
		bar.style.width = `calc(${(100 * t.durationNanos) / this.longest}% - 24px)`;
		return make("td", "sized", bar, make("span", "", nanos(t.durationNanos)));
	}

	key(t) {
		switch (this.sort) {
			case "when": return t.when.getTime();
			case "errors": return t.errors ?? 0;
			case "thread": return t.root.thread;
			case "root": return t.root.name.full;
			case "tags": return t.tags.map(([name, value]) => `${name}=${value}`).join(" ");
		}
		return t[this.sort];
	}

	draw() {
		const sign = this.descending ? -1 : 1;
		this.shown = this.transactions.filter((t) => matchesFilter(t, this.query));
		this.shown.sort((a, b) => {
			const x = this.key(a);
			const y = this.key(b);
			return (x < y ? -1 : x > y ? 1 : 0) * sign || a.number - b.number;
		});
		for (const head of this.heads) {
			if (head.dataset.key === this.sort) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
			else head.removeAttribute("aria-sort");
		}
		this.drawn = 0;
		this.body.replaceChildren();
		this.drawMore();
		const isFiltered = this.query.trim() !== "";
		byId("found").textContent = isFiltered ? `${count(this.shown.length)} of ${count(this.transactions.length)}` : "";
	}

	// drawMore draws the next rows of a long list, and a row that draws those after them.
	drawMore() {
		this.body.querySelector(".more")?.remove();
		this.drawn += rowsAtOnce;
		this.body.append(...this.shown.slice(this.drawn - rowsAtOnce, this.drawn).map((t) => this.row(t)));
		const rest = this.shown.length - this.drawn;
		if (rest <= 0) return;
		const button = make("button", "", plural(rest, "more transaction"));
		button.type = "button";
		button.addEventListener("click", () => this.drawMore());
		const cell = make("td", "text", button);
		cell.colSpan = this.columns.length;
		this.body.append(make("tr", "more", cell));
	}

	row(t) {
		const row = make("tr", "", ...this.columns.map(([, , cell]) => cell(t)));
		row.setAttribute("aria-selected", String(t === this.picked));
		row.addEventListener("click", () => this.pick(t));
		row.transaction = t;
		return row;
	}

	select(t) {
		this.picked = t;
		for (const row of this.body.children) row.setAttribute("aria-selected", String(row.transaction === t));
	}

	// step returns the transaction at a distance in lines.
	step(by) {
		const at = this.shown.indexOf(this.picked);
		return this.shown[Math.max(0, Math.min(this.shown.length - 1, at + by))];
	}
}
