"use strict";

// Number formats. internal/report/html/format.go has the same rules; testdata/figures.json
// tests both.

const belowClock = 50;
const space = "\u00a0";

function digits(x) {
	const size = Math.abs(x);
	return x.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function nanos(ns) {
	const size = Math.abs(ns);
	if (!Number.isFinite(size)) return "∞";
	if (size < 0.05) return "0" + space + "ns";
	if (size < 999.5) return digits(ns) + space + "ns";
	if (size < 999.5e3) return digits(ns / 1e3) + space + "µs";
	if (size < 999.5e6) return digits(ns / 1e6) + space + "ms";
	if (size < 59.95e9) return digits(ns / 1e9) + space + "s";
	const seconds = Math.round(ns / 1e9);
	if (seconds < 3600) {
		const minutes = Math.floor(seconds / 60);
		return minutes + space + "min" + space + (seconds - 60 * minutes) + space + "s";
	}
	const minutes = Math.round(seconds / 60);
	const hours = Math.floor(minutes / 60);
	return hours + space + "h" + space + (minutes - 60 * hours) + space + "min";
}

// mean returns a time per call, or "< 50 ns".
function mean(ns) {
	return ns < belowClock ? "<" + space + belowClock + space + "ns" : nanos(ns);
}

// within returns the error of a time. Above 100 %, the time is unknown.
function within(ns, error) {
	return "±" + space + (error <= ns ? nanos(error) : "unknown");
}

function count(n) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

// callCount returns the number of calls; ≥ marks a lower bound.
function callCount(calls, method) {
	return (method.lowerBound ? "≥" + space : "") + count(calls);
}

function share(part) {
	const percent = 100 * part;
	if (!(percent > 0)) return "0" + space + "%";
	if (percent < 0.1) return "<" + space + "0.1" + space + "%";
	return percent.toFixed(percent < 9.95 ? 1 : 0) + space + "%";
}

function plural(n, one) {
	return count(n) + " " + (n === 1 ? one : one + "s");
}

// nameOf splits a method's name into the parts that are styled differently.
function nameOf(className, name) {
	if (className === "") return { pkg: "", cls: name, member: "", brief: name, full: name };
	const dotted = className.replaceAll("/", ".");
	const dot = dotted.lastIndexOf(".");
	const cls = dotted.slice(dot + 1);
	return { pkg: dotted.slice(0, dot + 1), cls, member: "." + name, brief: cls + "." + name, full: dotted + "." + name };
}

const primitives = {
	B: "byte", C: "char", D: "double", F: "float", I: "int", J: "long", S: "short", V: "void", Z: "boolean",
};

// signature returns a descriptor as in Java: (String, int[]) void. It returns other texts
// unchanged.
function signature(descriptor) {
	const shape = /^\(((?:\[*(?:[BCDFIJSZ]|L[^;]+;))*)\)(\[*(?:[BCDFIJSVZ]|L[^;]+;))$/.exec(descriptor);
	if (!shape) return descriptor;
	const parameters = shape[1].match(/\[*(?:[BCDFIJSZ]|L[^;]+;)/g) || [];
	return "(" + parameters.map(typeName).join(", ") + ") " + typeName(shape[2]);
}

// aboutMethod returns what a tooltip shows of a method below its name.
function aboutMethod(method) {
	const native = method.native ? "native, measured at its call sites" : "";
	return [method.signature, native, method.category].filter(Boolean).join(" · ");
}

function typeName(type) {
	const element = type.replace(/^\[+/, "");
	const plain = element[0] === "L" ? element.slice(element.lastIndexOf("/") + 1, -1).replace(/^L/, "") : primitives[element];
	return plain + "[]".repeat(type.length - element.length);
}
