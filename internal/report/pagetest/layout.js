// Finds what a reader would stumble over in the layout of a page: parts beyond its
// edges, parts cut off without a way to them, text that is hard to tell from its ground.
(() => {
	const faults = new Set();
	const width = document.documentElement.clientWidth;
	const named = (element) => {
		const classes = typeof element.className === "string" ? element.className.trim().split(/\s+/).filter(Boolean) : [];
		return element.localName + (element.id ? "#" + element.id : "") + classes.map((name) => "." + name).join("");
	};
	const sideways = document.scrollingElement.scrollWidth - width;
	if (sideways > 0) faults.add(`the page is ${sideways} pixels wider than the window`);

	const elements = [...document.body.querySelectorAll("*")].filter(
		(element) => element instanceof HTMLElement && !element.closest(".unseen, script, option") && element.checkVisibility({ visibilityProperty: true, opacityProperty: true }),
	);
	// What an ancestor scrolls or cuts is that ancestor's affair.
	const isHeld = (element) => {
		for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
			if (getComputedStyle(at).overflowX !== "visible") return true;
		}
		return false;
	};
	for (const element of elements) {
		const box = element.getBoundingClientRect();
		if (box.width === 0 || box.height === 0) continue;
		if ((box.right > width + 1 || box.left < -1) && !isHeld(element)) faults.add(`${named(element)} reaches from ${box.left} to ${box.right} of ${width} pixels`);
		const style = getComputedStyle(element);
		const isCut = ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis" && element.scrollWidth > element.clientWidth + 4; // less is an edge, not text
		if (isCut) faults.add(`${named(element)} shows ${element.clientWidth} of ${element.scrollWidth} pixels and does not scroll`);
	}

	// Contrast as WCAG defines it; colours are read back from a canvas, in whatever
	// notation they were given.
	const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	const known = new Map();
	const paint = (colour) => {
		if (!known.has(colour)) {
			pen.clearRect(0, 0, 1, 1);
			pen.fillStyle = colour;
			pen.fillRect(0, 0, 1, 1);
			const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
			known.set(colour, { r, g, b, a: a / 255 });
		}
		return known.get(colour);
	};
	const over = (top, below) => ({ r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1 });
	const grounds = new Map([[null, { r: 255, g: 255, b: 255, a: 1 }]]);
	const ground = (element) => {
		if (!grounds.has(element)) {
			const colour = paint(getComputedStyle(element).backgroundColor);
			grounds.set(element, colour.a === 1 ? colour : over(colour, ground(element.parentElement)));
		}
		return grounds.get(element);
	};
	const light = ({ r, g, b }) => {
		const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
		return 0.2126 * x + 0.7152 * y + 0.0722 * z;
	};
	for (const element of elements) {
		const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
		if (!hasText || getComputedStyle(element).fontSize === "0px") continue;
		const below = ground(element);
		const ink = over(paint(getComputedStyle(element).color), below);
		const [low, high] = [light(ink), light(below)].sort((a, b) => a - b);
		const contrast = (high + 0.05) / (low + 0.05);
		if (contrast < 4.5) faults.add(`the text of ${named(element)} has a contrast of ${contrast.toFixed(1)} to 1, less than 4.5: ${element.textContent.trim().slice(0, 40)}`);
	}
	return [...faults];
})()
