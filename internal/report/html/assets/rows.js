// Rows is a table in which only the visible rows exist as elements. Keys move the current
// row, which aria-activedescendant names.
const rowHeight = 27;
let rowsMade = 0;

class Rows {
	// columns: [{key, text, title, width}]; makeRow(i) returns the cells of a row.
	constructor(host, { role, label, columns, makeRow, onActivate, onKey, onSort }) {
		this.host = host;
		this.makeRow = makeRow;
		this.onActivate = onActivate;
		this.onKey = onKey;
		this.size = 0;
		this.current = 0;
		this.prefix = "rows" + rowsMade++ + "-";
		this.heads = new Map();
		this.space = make("div", "space");
		this.space.setAttribute("role", "presentation");
		this.body = make("div", "body", this.space);
		this.body.setAttribute("role", "rowgroup");
		host.setAttribute("role", role);
		host.setAttribute("aria-label", label);
		host.tabIndex = 0;
		host.append(this.makeHead(columns, onSort), this.body);
		host.style.setProperty("--columns", columns.map(({ width }, i) => (i === 0 ? `minmax(${width}px, 1fr)` : width + "px")).join(" "));
		host.style.setProperty("--least", columns.reduce((sum, { width }) => sum + width, 0) + "px");
		this.body.addEventListener("scroll", () => this.draw(), { passive: true });
		this.body.addEventListener("click", (event) => {
			const i = Math.floor((event.clientY - this.space.getBoundingClientRect().top) / rowHeight);
			if (i >= 0 && i < this.size) this.click(i);
		});
		host.addEventListener("keydown", (event) => this.key(event));
		// Do not redraw rows here: a press that brings focus would lose its click.
		host.addEventListener("focus", () => this.markCurrent());
		host.addEventListener("blur", () => this.markCurrent());
		new ResizeObserver(() => this.draw()).observe(this.body);
	}

	makeHead(columns, onSort) {
		const head = make("div", "head");
		head.setAttribute("role", "row");
		for (const column of columns) {
			const cell = make("div", "");
			cell.setAttribute("role", "columnheader");
			if (column.title) cell.title = column.title;
			if (onSort) {
				const button = make("button", "", column.text);
				button.type = "button";
				button.addEventListener("click", () => onSort(column.key));
				cell.append(button);
			} else {
				cell.append(column.text);
			}
			this.heads.set(column.key, cell);
			head.append(cell);
		}
		return head;
	}

	// showSort marks the column by which rows are sorted.
	showSort(key, descending) {
		for (const [column, cell] of this.heads) {
			if (column === key) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
			else cell.removeAttribute("aria-sort");
		}
	}

	// resize sets the number of rows and redraws them.
	resize(size) {
		this.size = size;
		this.current = Math.min(this.current, Math.max(0, size - 1));
		this.host.setAttribute("aria-rowcount", String(size + 1));
		this.space.style.height = size * rowHeight + "px";
		this.body.classList.toggle("short", size * rowHeight < this.room());
		this.draw();
	}

	room() {
		return Math.max(340, window.innerHeight - 190);
	}

	draw() {
		const first = Math.max(0, Math.floor(this.body.scrollTop / rowHeight) - 6);
		const last = Math.min(this.size, Math.ceil((this.body.scrollTop + this.body.clientHeight) / rowHeight) + 6);
		const rows = [];
		for (let i = first; i < last; i++) rows.push(this.place(i));
		this.space.replaceChildren(...rows);
		this.markCurrent();
		this.host.style.setProperty("--scrollbar", this.body.offsetWidth - this.body.clientWidth + "px");
	}

	markCurrent() {
		const current = this.prefix + this.current;
		for (const row of this.space.children) row.setAttribute("aria-selected", String(row.id === current && this.isPicked()));
		this.host.setAttribute("aria-activedescendant", current);
	}

	place(i) {
		const row = this.makeRow(i);
		row.id = this.prefix + i;
		row.classList.add("row");
		row.style.top = i * rowHeight + "px";
		row.setAttribute("role", "row");
		row.setAttribute("aria-rowindex", String(i + 2));
		return row;
	}

	click(i) {
		this.current = i;
		this.picked = true;
		this.onActivate(i, false);
		this.draw();
	}

	// There is no current row until the user chooses one.
	isPicked() {
		return this.picked || document.activeElement === this.host;
	}

	moveTo(i) {
		this.current = Math.max(0, Math.min(this.size - 1, i));
		this.picked = true;
		const top = this.current * rowHeight;
		const room = this.body.clientHeight;
		if (top < this.body.scrollTop) this.body.scrollTop = top;
		else if (top + rowHeight > this.body.scrollTop + room) this.body.scrollTop = top + rowHeight - room;
		this.draw();
	}

	key(event) {
		if (event.target !== this.host || event.ctrlKey || event.metaKey || event.altKey) return;
		const page = Math.max(1, Math.floor(this.body.clientHeight / rowHeight) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.size, End: this.size };
		if (event.key in steps) this.moveTo(this.current + steps[event.key]);
		else if (event.key === "Enter") this.onActivate(this.current, true);
		else if (!this.onKey || !this.onKey(event.key, this.current)) return;
		event.preventDefault();
	}
}
