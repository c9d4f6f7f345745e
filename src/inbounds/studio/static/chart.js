// Charts as SVG. They place what the server computed on a page; no figure is computed here.

import { s } from "/static/dom.js";

const ROOM = { left: 46, right: 12, top: 10, bottom: 30 }, GRIP = 14;

function scale(low, high, from, to, log) {
  const f = log ? Math.log : (x) => x;
  const back = log ? Math.exp : (x) => x;
  const span = f(high) - f(low) || 1;
  const place = (x) => from + ((f(x) - f(low)) / span) * (to - from);
  place.back = (pixel) => back(f(low) + ((pixel - from) / (to - from)) * span);
  return place;
}

const LARGE = new Intl.NumberFormat("en", { notation: "compact" }), USUAL = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const short = (x) => (x === 0 ? "0" : Math.abs(x) >= 1e5 ? LARGE.format(x) : Math.abs(x) < 1e-4 ? x.toExponential(0) : USUAL.format(x));

function ticks(low, high, log) {
  if (log) {
    const marks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
      for (const times of [1, 3]) { const x = times * 10 ** power; if (x >= low * 0.999 && x <= high * 1.001) marks.push(x); }
    return marks.length > 5 ? marks.filter((x) => String(x.toExponential()).startsWith("1")) : marks.length > 1 ? marks : ticks(low, high, false).filter((mark) => mark > 0);
  }
  const rough = (high - low) / 4 || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((x) => x * unit).find((x) => x >= rough);
  const marks = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step / 1e6; x += step) marks.push(Math.abs(x) < step / 1e6 ? 0 : x);
  return marks;
}

/* series: [{points: [[x, y]], mark}], dot: [x, y], aim: {y, drag(y), drop(y)}, atoms: [{x, height, mark}] */
export function draw({ series, words, xLog, yLog, dot, aim, atoms = [], width = 320, height = 170, xTitle, xEnds = [], yZero, yTop }) {
  const all = series.flatMap((one) => one.points).filter(([, y]) => !yLog || y > 0);
  const root = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  if (!all.length) return root;
  const xs = [...all.map(([x]) => x), ...xEnds], ys = [...all.map(([, y]) => y), ...(dot ? [dot[1]] : []), ...(aim ? [aim.y] : [])];
  const low = yZero ? Math.min(0, ...ys) : Math.min(...ys), high = yTop ?? Math.max(...ys);
  const x = scale(Math.min(...xs), Math.max(...xs), ROOM.left, width - ROOM.right, xLog);
  const y = scale(low, high, height - ROOM.bottom, ROOM.top, yLog);
  const foot = height - ROOM.bottom, across = ticks(Math.min(...xs), Math.max(...xs), xLog), upwards = ticks(low, high, yLog);
  root.append(s("path", { class: "lines", d: upwards.map((mark) => `M${ROOM.left} ${y(mark)}H${width - ROOM.right}`).join("") }));
  root.append(s("path", { class: "axis", d: `M${ROOM.left} ${ROOM.top}V${foot}H${width - ROOM.right}${across.map((mark) => `M${x(mark)} ${foot}v4`).join("")}` }));
  for (const mark of across) root.append(s("text", { x: x(mark), y: foot + 15, "text-anchor": "middle" }, short(mark)));
  for (const mark of upwards) root.append(s("text", { x: ROOM.left - 5, y: y(mark) + 4, "text-anchor": "end" }, short(mark)));
  if (xTitle) root.append(s("text", { x: (ROOM.left + width - ROOM.right) / 2, y: height - 3, "text-anchor": "middle" }, xTitle));
  for (const one of series) {
    const inside = one.points.filter(([, v]) => !yLog || v > 0);
    root.append(s("path", { class: one.mark ?? "line", d: `M${inside.map(([a, b]) => `${x(a).toFixed(1)} ${y(Math.min(b, high)).toFixed(1)}`).join("L")}` }));
  }
  for (const one of atoms) {
    root.append(s("line", { class: `${one.mark} atom`, x1: x(one.x), x2: x(one.x), y1: foot, y2: foot - one.height * (foot - ROOM.top) }));
  }
  if (dot) root.append(s("circle", { class: "dot", cx: x(dot[0]), cy: y(dot[1]), r: 5.5 }));
  if (aim) {
    const line = s("line", { class: "aim", x1: ROOM.left, x2: width - ROOM.right, y1: y(aim.y), y2: y(aim.y) });
    const at = (event) => {
      const box = event.currentTarget.ownerSVGElement.getBoundingClientRect();
      const pixel = ((event.clientY - box.top) / box.height) * height;
      return y.back(Math.min(Math.max(pixel, ROOM.top), height - ROOM.bottom));
    };
    const held = (event) => event.currentTarget.hasPointerCapture(event.pointerId);
    const show = (event) => { const v = at(event), there = event.currentTarget.previousSibling; there.setAttribute("y1", y(v)); there.setAttribute("y2", y(v)); return v; };
    // Only the line itself is held, so that a finger beside it scrolls the page.
    const grip = s("rect", { class: "grip", x: ROOM.left, y: y(aim.y) - GRIP, width: width - ROOM.left - ROOM.right, height: 2 * GRIP,
      onpointerdown: (event) => { event.currentTarget.setPointerCapture(event.pointerId); show(event); },
      onpointermove: (event) => { if (held(event)) aim.drag?.(show(event)); },
      onpointerup: (event) => { if (held(event)) aim.drop(show(event)); } });
    root.append(line, grip);
  }
  return root;
}

export function sample(mark) {
  return s("svg", { viewBox: "0 0 30 10", "aria-hidden": "true", class: "chart" }, s("path", { class: mark, d: "M0 5H30" }));
}
