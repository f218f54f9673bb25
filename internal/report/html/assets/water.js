// The waterfall of one transaction: rows down, time across.

const rowLimit = 600;

class Waterfall {
	constructor(tooltip) {
		this.tooltip = tooltip;
		this.frame = byId("water");
		this.ticks = make("div", "ticks");
		this.axis = make("div", "axis", make("span", "", "Method"), make("span", "", "Total"), make("span", "", "Self"), this.ticks);
		this.body = make("div", "");
		this.frame.replaceChildren(this.axis, this.body);
		this.limit = rowLimit;
		this.hues = new Map();
		this.dark = false;
		this.frame.addEventListener("keydown", (event) => this.press(event));
		this.frame.addEventListener("pointerdown", (event) => this.beginStretch(event));
		this.frame.addEventListener("pointerleave", () => {
			tooltip.hidden = true;
		});
		byId("reset").addEventListener("click", () => this.zoom(0, this.extent));
		new ResizeObserver(() => this.transaction && this.draw()).observe(this.frame);
	}

	show(transaction) {
		this.transaction = transaction;
		this.rows = rowsOf(transaction);
		this.extent = Math.max(1, transaction.extentNanos);
		this.selected = this.rows[0];
		this.limit = rowLimit;
		drawTitle(transaction);
		this.zoom(0, this.extent);
	}

	zoom(from, to) {
		const least = Math.max(1, this.extent / 1e6);
		this.from = Math.max(0, Math.min(from, this.extent - least));
		this.to = Math.min(this.extent, Math.max(to, this.from + least));
		byId("reset").hidden = this.from <= 0 && this.to >= this.extent;
		this.draw();
	}

	draw() {
		this.visible = visibleRows(this.rows);
		this.pixels = Math.max(50, Math.floor(this.ticks.getBoundingClientRect().width));
		this.marks = this.drawTicks();
		const lines = [];
		for (const row of this.visible.slice(0, this.limit)) {
			if (row.level === 0 && row.handed && !row.parent) lines.push(make("div", "part-head", this.partText(row)));
			lines.push(this.line(row));
		}
		if (this.visible.length > this.limit) {
			const button = make("button", "", "Show them");
			button.type = "button";
			button.addEventListener("click", () => {
				this.limit += 10 * rowLimit;
				this.draw();
			});
			lines.push(make("div", "more-rows", `${plural(this.visible.length - this.limit, "more row")}  `, button));
		}
		this.body.replaceChildren(...lines);
	}

	partText(row) {
		const threads = new Set(row.calls.map(threadText));
		const who = threads.size === 1 ? [...threads][0] : plural(threads.size, "thread");
		return `handed over to ${who}`;
	}

	drawTicks() {
		const stretch = this.to - this.from;
		const step = tickStep(stretch, this.pixels / 110);
		const marks = [];
		const last = this.to - (50 / this.pixels) * stretch; // beyond, the text would be cut off
		for (let at = Math.ceil(this.from / step) * step; at < last; at += step) marks.push([((at - this.from) / stretch) * this.pixels, at]);
		this.ticks.replaceChildren(
			...marks.map(([left, at]) => {
				const tick = make("span", "", at === 0 ? "0" : nanos(at));
				tick.style.left = left + "px";
				return tick;
			}),
		);
		return marks.map(([left]) => left);
	}

	line(row) {
		const line = make("div", "call", this.whoCell(row), make("div", "figure", nanos(row.duration)), make("div", "figure soft", nanos(row.self)), this.track(row));
		line.setAttribute("role", "row");
		line.setAttribute("aria-level", String(row.level + 1));
		line.setAttribute("aria-selected", String(row === this.selected));
		if (row.children.length > 0) line.setAttribute("aria-expanded", String(row.open));
		line.addEventListener("click", () => this.select(row));
		line.addEventListener("dblclick", () => this.zoomTo(row));
		line.addEventListener("pointermove", (event) => {
			fillCallTooltip(this.tooltip, row, this.transaction);
			placeTooltip(this.tooltip, event.clientX, event.clientY);
		});
		return line;
	}

	whoCell(row) {
		const rails = make("span", "rails");
		rails.style.width = 14 * row.level + "px";
		const twist = make("button", "twist" + (row.children.length > 0 ? "" : " leaf"), chevron());
		twist.type = "button";
		twist.tabIndex = -1;
		twist.dataset.open = String(row.open);
		twist.setAttribute("aria-label", row.open ? "Close" : "Open");
		twist.addEventListener("click", (event) => {
			event.stopPropagation();
			this.toggle(row, !row.open);
		});
		const who = make("div", "who", rails, twist, nameElement({ ...row.name, pkg: "" }));
		if (row.size > 1) who.append(make("span", "fold", "× " + count(row.size)));
		if (row.category) who.append(make("span", "sign category", row.category));
		if (row.conditional) who.append(make("span", "sign conditional", "◆"));
		if (row.handed && row.level > 0) who.append(make("span", "sign handed", "⇢"));
		if (row.threw) who.append(make("span", "sign threw", row.size > 1 ? `${count(row.threw)} threw` : "threw"));
		if (row.cut) who.append(make("span", "sign cut", "no end"));
		return who;
	}

	track(row) {
		const track = make("div", "track");
		const place = (element, left, width) => {
			element.style.left = left + "px";
			if (width !== undefined) element.style.width = width + "px";
			track.append(element);
		};
		const scale = this.pixels / (this.to - this.from);
		for (const left of this.marks) place(make("i", "grid"), left);
		if (row.region) {
			const left = Math.max(-4, (row.region.start - this.from) * scale);
			const right = Math.min(this.pixels + 4, (row.region.end - this.from) * scale);
			if (right > left) place(make("i", "region"), left, right - left);
		}
		const hue = categoryHues[row.category] ?? this.hues.get(row.name.pkg) ?? null;
		const segments = segmentsOf(row, this.from, this.to, this.pixels);
		for (const { left, width, own, isFirst, isLast } of segments) {
			const bar = make("i", (own ? "own" : "inner") + (isFirst ? " first" : "") + (isLast ? " last" : ""));
			bar.style.background = own ? dotColour(hue, this.dark) : boxColour(hue, row.name.cls, this.dark);
			place(bar, left, width);
		}
		this.say(track, row, segments);
		return track;
	}

	// say writes a row's values next to its bars if there is room.
	say(track, row, segments) {
		const values = valuesOf(row).map(([name, values]) => `${name} = ${values}`);
		const text = [row.target, ...values].filter(Boolean).join("   ");
		if (text === "" || segments.length === 0) return;
		const first = segments[0].left;
		const last = segments[segments.length - 1];
		const right = this.pixels - last.left - last.width;
		const said = make("span", "said" + (right < first ? " left" : ""), text);
		said.style.left = right < first ? "0" : last.left + last.width + "px";
		said.style.width = Math.max(right, first) + "px";
		if (Math.max(right, first) > 60) track.append(said);
	}

	select(row) {
		this.selected = row;
		this.draw();
		this.frame.focus({ preventScroll: true });
		byId("said").textContent = `${row.name.full}, ${plural(row.size, "call")}, total ${nanos(row.duration)}, own ${nanos(row.self)}`;
	}

	toggle(row, open) {
		row.open = open;
		this.select(row);
	}

	zoomTo(row) {
		const margin = Math.max(1, (row.end - row.start) * 0.03);
		this.zoom(row.start - margin, row.end + margin);
	}

	press(event) {
		const at = this.visible.indexOf(this.selected);
		const go = (row) => row && (this.select(row), this.body.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }));
		switch (event.key) {
			case "ArrowDown": go(this.visible[at + 1]); break;
			case "ArrowUp": go(this.visible[at - 1]); break;
			case "Home": go(this.visible[0]); break;
			case "End": go(this.visible[Math.min(this.visible.length, this.limit) - 1]); break;
			case "ArrowRight":
				if (!this.selected.open) this.toggle(this.selected, true);
				else go(this.selected.children[0]);
				break;
			case "ArrowLeft":
				if (this.selected.open && this.selected.children.length > 0) this.toggle(this.selected, false);
				else go(this.selected.parent);
				break;
			case "Enter": this.zoomTo(this.selected); break;
			case "Escape": this.zoom(0, this.extent); break;
			case "+": this.zoomBy(0.5); break;
			case "-": this.zoomBy(2); break;
			default: return;
		}
		event.preventDefault();
	}

	zoomBy(factor) {
		const middle = (this.from + this.to) / 2;
		const half = ((this.to - this.from) / 2) * factor;
		this.zoom(middle - half, middle + half);
	}

	// beginStretch selects a span of time with the pointer. A very narrow one is a click.
	beginStretch(event) {
		const { left, width } = this.ticks.getBoundingClientRect();
		if (event.button !== 0 || event.clientX < left || !this.transaction) return;
		const offset = this.frame.getBoundingClientRect().left;
		const stretch = make("div", "stretch");
		const begin = event.clientX;
		const clamp = (x) => Math.max(left, Math.min(left + width, x));
		const move = (moved) => {
			const [a, b] = [clamp(begin), clamp(moved.clientX)].sort((x, y) => x - y);
			stretch.style.left = a - offset + "px";
			stretch.style.width = b - a + "px";
			if (b - a > 4 && !stretch.isConnected) this.frame.append(stretch);
			moved.preventDefault();
		};
		const end = (ended) => {
			removeEventListener("pointermove", move);
			removeEventListener("pointerup", end);
			stretch.remove();
			const [a, b] = [clamp(begin), clamp(ended.clientX)].sort((x, y) => x - y);
			if (b - a <= 4) return;
			const time = (x) => this.from + ((x - left) / width) * (this.to - this.from);
			this.zoom(time(a), time(b));
		};
		addEventListener("pointermove", move);
		addEventListener("pointerup", end);
	}

	paint(hues, dark) {
		this.hues = hues;
		this.dark = dark;
		if (this.transaction) this.draw();
	}
}
