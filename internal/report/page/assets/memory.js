// A page opened from a file may have no storage: then nothing is remembered.
function remember(key, value) {
	try {
		localStorage.setItem(key, value);
	} catch {
		return;
	}
}

function recall(key) {
	try {
		return localStorage.getItem(key);
	} catch {
		return null;
	}
}
