// Each package has a hue that is computed from its name if that hue is free, so that two
// reports of one program look alike. Packages of the JDK are grey.

const hues = [242, 152, 62, 318, 196, 28, 288, 108, 262, 12, 172, 84];
// Calls of a category, such as those that go out of the program, have its colour, whatever their package.
const categoryHues = { web: 225, db: 45, messaging: 135, sockets: 300, files: 95, locks: 15 };
const platform = /^(java|javax|jdk|sun|com\.sun)\./;

function hashOf(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
	return (hash ^ (hash >>> 15)) >>> 0;
}

// assignHues assigns hues to packages; null is grey. Of two packages with the same hue, the
// later in the alphabet takes the next free one, if there is any.
function assignHues(packages) {
	const assigned = new Map();
	const taken = new Set();
	for (const pkg of [...packages].sort()) {
		if (platform.test(pkg)) {
			assigned.set(pkg, null);
			continue;
		}
		let slot = hashOf(pkg) % hues.length;
		for (let tries = 0; taken.has(slot) && tries < hues.length; tries++) slot = (slot + 1) % hues.length;
		taken.add(slot);
		assigned.set(pkg, hues[slot]);
	}
	return assigned;
}

// groupOf returns what the colour of a method depends on: its package, or what else it belongs to.
const groupOf = (method) => method.group ?? method.pkg;

// boxColour returns the fill of a box. Classes of a package differ slightly in lightness.
function boxColour(hue, className, dark) {
	const shade = ((hashOf(className) % 5) - 2) * 0.012;
	const lightness = (dark ? 0.42 : 0.86) + shade;
	const chroma = hue === null ? 0.006 : dark ? 0.066 : 0.062;
	return `oklch(${lightness.toFixed(3)} ${chroma} ${hue === null ? 80 : hue})`;
}

// dotColour returns the same hue with more contrast, for a small mark.
function dotColour(hue, dark) {
	return `oklch(${dark ? 0.68 : 0.66} ${hue === null ? 0.01 : 0.12} ${hue === null ? 80 : hue})`;
}

// categoryColour returns the fill of a box of a category, stronger than those of packages.
function categoryColour(category, dark) {
	return `oklch(${dark ? 0.52 : 0.79} ${dark ? 0.115 : 0.13} ${categoryHues[category]})`;
}
