// placeTooltip puts the tooltip next to a place, within the window.
function placeTooltip(tooltip, x, y) {
	tooltip.hidden = false;
	const { width, height } = tooltip.getBoundingClientRect();
	const left = x + 16 + width > innerWidth - 8 ? x - width - 12 : x + 16;
	const top = y + 18 + height > innerHeight - 8 ? y - height - 12 : y + 18;
	tooltip.style.left = Math.max(8, left) + "px";
	tooltip.style.top = Math.max(8, top) + "px";
}
