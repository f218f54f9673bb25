// A flame graph: zooming, moving, pointing. Callees are below their caller, or above it if the graph is upward.

class Flame {
	// onZoom(node) is called when the user zooms, onMenu(node, x, y) when the user asks for what can be done with a node.
	constructor(id, methods, tooltip, onZoom, onMenu) {
		this.methods = methods;
		this.tooltip = tooltip;
		this.onZoom = onZoom;
		this.onMenu = onMenu;
		this.frame = byId(id + "-frame");
		this.space = byId(id + "-space");
		this.canvas = byId(id + "-canvas");
		this.crumbs = byId("crumbs");
		this.said = byId("flame-said");
		this.pen = this.canvas.getContext("2d");
		this.nothing = make("p", "nothing");
		this.nothing.hidden = true;
		this.frame.prepend(this.nothing);
		this.view = { from: 0, to: 1, width: 0, height: 0, content: 0, scroll: 0, zoomed: null, isUpward: false };
		this.marks = { methods, found: null, selected: null, hovered: null };
		this.listen();
	}

	listen() {
		const redraw = () => this.redraw();
		this.frame.addEventListener("scroll", redraw, { passive: true });
		new ResizeObserver(() => this.resize()).observe(this.frame);
		this.canvas.addEventListener("pointermove", (event) => this.hover(event));
		this.canvas.addEventListener("pointerleave", () => this.leave());
		this.canvas.addEventListener("click", (event) => {
			const node = this.nodeUnder(event);
			if (node) this.userZoom(node);
		});
		this.canvas.addEventListener("contextmenu", (event) => {
			const node = this.nodeUnder(event);
			if (!node || node.method < 0) return;
			event.preventDefault();
			this.tooltip.hidden = true;
			this.onMenu(node, event.clientX, event.clientY);
		});
		this.frame.addEventListener("keydown", (event) => this.key(event));
		this.frame.addEventListener("blur", () => {
			this.tooltip.hidden = true;
		});
	}

	show(tree, isUpward = this.view.isUpward) {
		this.tree = tree;
		this.view.isUpward = isUpward;
		this.view.zoomed = tree.top;
		this.view.from = 0;
		this.view.to = 1;
		this.marks.selected = null;
		this.marks.hovered = null;
		this.nothing.hidden = tree.total > 0;
		this.space.hidden = !this.nothing.hidden;
		this.nothing.textContent = tree.nodes.length > 1 ? "Calls were counted, but none was timed: the tree shows the counts." : "No call of the root was seen.";
		this.drawCrumbs();
		this.resize();
		this.frame.scrollTop = isUpward ? this.frame.scrollHeight : 0;
	}

	paint(palette) {
		this.palette = palette;
		this.drawNow();
	}

	putOnPaper(isOnPaper) {
		this.isOnPaper = isOnPaper;
		this.resize();
	}

	mark(found) {
		this.marks.found = found;
		this.redraw();
	}

	// resize sets the height of the graph to the depth of the zoomed node.
	resize() {
		if (!this.tree || this.frame.clientWidth === 0) return;
		const { x, width } = this.view.zoomed;
		const narrowest = (smallest * width) / this.frame.clientWidth;
		const content = (depthInSight(this.tree, x, x + width, narrowest) + 1) * boxHeight;
		this.space.style.height = content + "px";
		this.view.content = content;
		// The limit of flame.css; paper does not scroll.
		const height = this.isOnPaper ? content : Math.min(content, Math.max(360, window.innerHeight - 170));
		const ratio = window.devicePixelRatio || 1;
		this.view.width = this.frame.clientWidth;
		this.view.height = height;
		this.canvas.width = Math.round(this.view.width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.height = height + "px";
		this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.drawNow();
	}

	redraw() {
		this.waiting ??= requestAnimationFrame(() => {
			this.waiting = null;
			this.drawNow();
		});
	}

	drawNow() {
		if (!this.tree || !this.palette || this.view.width === 0) return;
		this.view.scroll = this.frame.scrollTop;
		drawFlame(this.pen, this.tree, this.view, this.palette, this.marks);
	}

	nodeUnder(event) {
		const box = this.canvas.getBoundingClientRect();
		const row = Math.floor((event.clientY - box.top + this.frame.scrollTop) / boxHeight);
		const depth = this.view.isUpward ? Math.round(this.view.content / boxHeight) - 1 - row : row;
		const { from, to, width } = this.view;
		return nodeAt(this.tree, depth, from + ((event.clientX - box.left) / width) * (to - from));
	}

	hover(event) {
		const node = this.nodeUnder(event);
		if (node !== this.marks.hovered) {
			this.marks.hovered = node;
			if (node) fillTooltip(this.tooltip, node, this.tree, this.methods);
			this.redraw();
		}
		if (node) placeTooltip(this.tooltip, event.clientX, event.clientY);
		else this.tooltip.hidden = true;
	}

	leave() {
		this.marks.hovered = null;
		this.tooltip.hidden = true;
		this.redraw();
	}

	userZoom(node) {
		this.zoom(node);
		this.onZoom(node);
	}

	// zoom makes a node as wide as the graph, with a short animation unless the user avoids motion.
	zoom(node, isGliding = true) {
		const { from, to } = this.view;
		const width = Math.max(node.width, 1e-12);
		this.view.zoomed = node;
		this.marks.selected = node.parent ? node : null;
		this.drawCrumbs();
		this.resize();
		const began = performance.now();
		const lasts = isGliding && !matchMedia("(prefers-reduced-motion: reduce)").matches ? 190 : 0;
		const glide = (now) => {
			if (this.view.zoomed !== node) return;
			const part = lasts === 0 ? 1 : Math.min(1, Math.max(0, now - began) / lasts);
			const eased = 1 - (1 - part) ** 3;
			this.view.from = from + (node.x - from) * eased;
			this.view.to = to + (node.x + width - to) * eased;
			this.drawNow();
			if (part < 1) requestAnimationFrame(glide);
		};
		glide(began);
		if (lasts > 0) requestAnimationFrame(glide);
	}

	select(node) {
		this.marks.selected = node;
		const top = rowTop(this.view, node.depth);
		if (top < this.frame.scrollTop) this.frame.scrollTop = top;
		const below = top + 3 * boxHeight - this.frame.clientHeight;
		if (below > this.frame.scrollTop) this.frame.scrollTop = below;
		const box = this.canvas.getBoundingClientRect();
		const { from, to, width } = this.view;
		const x = box.left + (Math.max(from, node.x) - from) / (to - from) * width;
		fillTooltip(this.tooltip, node, this.tree, this.methods);
		placeTooltip(this.tooltip, Math.min(x, innerWidth - 40), box.top + top - this.frame.scrollTop + boxHeight / 2);
		this.said.textContent = node.method < 0 ? this.tree.label : spoken(node, this.methods[node.method]);
		this.redraw();
	}

	// reveal selects a node and zooms so that it is visible.
	reveal(node) {
		let shown = node;
		while (shown.parent && node.width / Math.max(shown.width, 1e-12) > 0.08) shown = shown.parent;
		this.zoom(shown, false);
		this.select(node);
	}

	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const at = this.marks.selected || this.view.zoomed;
		const siblings = at.parent ? at.parent.children : [at];
		const place = siblings.indexOf(at);
		const wide = (node) => (node && node.width > 0 ? node : null);
		const moves = {
			[this.view.isUpward ? "ArrowDown" : "ArrowUp"]: () => at.parent,
			[this.view.isUpward ? "ArrowUp" : "ArrowDown"]: () => wide(at.children[0]),
			ArrowLeft: () => siblings[place - 1],
			ArrowRight: () => wide(siblings[place + 1]),
			Home: () => this.tree.top,
		};
		if (event.key in moves) {
			const node = moves[event.key]();
			if (node) this.moveTo(node);
		} else if (event.key === "Enter" || event.key === " ") this.userZoom(at);
		else if (event.key === "Escape") this.reset();
		else if (event.key === "m" && at.method >= 0) {
			const box = this.tooltip.getBoundingClientRect();
			this.onMenu(at, box.left, box.top);
		}
		else return;
		event.preventDefault();
	}

	reset() {
		this.tooltip.hidden = true;
		this.userZoom(this.tree.top);
	}

	// moveTo selects a node, and zooms out if it is outside the zoomed part.
	moveTo(node) {
		const isInside = node.x >= this.view.from - 1e-9 && node.x + node.width <= this.view.to + 1e-9;
		if (!isInside && node.depth > this.view.zoomed.depth - 1 && node.parent) this.zoom(node.parent);
		this.select(node);
	}

	drawCrumbs() {
		if (this.hasNoCrumbs) return;
		const path = pathTo(this.view.zoomed);
		const parts = path.map((node) => {
			const button = make("button", "", node.method < 0 ? this.tree.label : this.methods[node.method].brief);
			button.type = "button";
			button.addEventListener("click", () => this.userZoom(node));
			if (node === this.view.zoomed) button.setAttribute("aria-current", "location");
			return button;
		});
		if (parts.length > 6) parts.splice(2, parts.length - 5, make("span", "gap", "…"));
		this.crumbs.replaceChildren(...parts);
	}
}
