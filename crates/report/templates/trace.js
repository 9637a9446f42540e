"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("lanes"), read = document.getElementById("read"), pen = canvas.getContext("2d");
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const digit = new Uint8Array(128);
  for (let i = 0; i < 64; i++) digit[letters.charCodeAt(i)] = i;
  // Each letter has five bits of a number, and a sixth bit that says whether more follow. The numbers are gap, length, owner.
  const lanes = data.lanes.map(([cpu, text]) => {
    const begin = [], end = [], owner = [];
    let at = 0, place = 0;
    const number = () => {
      let value = 0, scale = 1, d;
      do { d = digit[text.charCodeAt(place++)]; value += (d & 31) * scale; scale *= 32; } while (d & 32);
      return value;
    };
    while (place < text.length) {
      at += number(); begin.push(at); at += number(); end.push(at); owner.push(number());
    }
    return { cpu, begin, end, owner };
  });
  const all = data.length / data.unit;
  let from = 0, to = all, waits = -1;
  const ROW = 44, LEFT = 56, TOP = 22;
  const COLOUR = { task: "--s1", soft: "--s4", hard: "--s0", idle: "--ln", lost: "--s7" };
  const HEIGHT = { task: 26, soft: 34, hard: 34, idle: 6, lost: 34 };
  const probe = document.createElement("i");
  document.body.append(probe);
  const colour = name => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
  const time = units => {
    const ns = units * data.unit, a = Math.abs(ns);
    return a < 1e3 ? ns.toFixed(0) + " ns" : a < 1e6 ? (ns / 1e3).toFixed(2) + " µs" : a < 1e9 ? (ns / 1e6).toFixed(3) + " ms" : (ns / 1e9).toFixed(4) + " s";
  };
  const first = (ends, value) => {
    let low = 0, high = ends.length;
    while (low < high) { const mid = (low + high) >> 1; if (ends[mid] > value) high = mid; else low = mid + 1; }
    return low;
  };
  let wide = 0;
  function draw() {
    const ratio = window.devicePixelRatio || 1;
    wide = canvas.clientWidth;
    const high = TOP + lanes.length * ROW;
    canvas.width = wide * ratio; canvas.height = high * ratio; canvas.style.height = high + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, high);
    const colours = Object.fromEntries(Object.entries(COLOUR).map(([kind, name]) => [kind, colour(name)]));
    const x = v => LEFT + (v - from) / (to - from) * (wide - LEFT);
    pen.font = "12px system-ui,sans-serif"; pen.textBaseline = "middle";
    const ink = colour("--mu");
    const rough = (to - from) / Math.max(2, Math.floor((wide - LEFT) / 140)) * data.unit;
    const power = Math.pow(10, Math.floor(Math.log10(rough))), step = [1, 2, 5, 10].find(s => s * power >= rough) * power / data.unit;
    pen.fillStyle = ink; pen.textAlign = "center";
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      const at = x(tick);
      pen.globalAlpha = .25; pen.fillRect(at, TOP - 4, 1, high); pen.globalAlpha = 1;
      if (at < wide - 40) pen.fillText(time(tick), Math.max(at, LEFT + 20), TOP / 2);
    }
    lanes.forEach((lane, row) => {
      const y = TOP + row * ROW;
      pen.fillStyle = ink; pen.textAlign = "left"; pen.fillText("CPU " + lane.cpu, 4, y + ROW / 2);
      // A piece that is narrower than a dot is drawn as its share of the dot, so that it does not hide its neighbours.
      const dots = new Map();
      for (let i = first(lane.end, from); i < lane.begin.length && lane.begin[i] < to; i++) {
        const a = Math.max(LEFT, x(lane.begin[i])), b = Math.min(wide, x(lane.end[i])), kind = data.kinds[lane.owner[i]];
        if (b - a < 1) {
          const dot = Math.floor(a), shares = dots.get(dot) || {};
          shares[kind] = (shares[kind] || 0) + b - a;
          dots.set(dot, shares);
          continue;
        }
        const height = HEIGHT[kind];
        pen.fillStyle = colours[kind];
        pen.fillRect(a, y + ROW - 4 - height, b - a, height);
        if (b - a > 50 && kind !== "idle") {
          pen.save(); pen.beginPath(); pen.rect(a, y, b - a - 3, ROW); pen.clip();
          pen.fillStyle = "#fff"; pen.fillText(data.names[lane.owner[i]], a + 4, y + ROW - 4 - height / 2); pen.restore();
        }
      }
      for (const [dot, shares] of dots) {
        let bottom = y + ROW - 4;
        for (const kind of ["idle", "task", "soft", "hard", "lost"]) {
          if (!shares[kind]) continue;
          const height = 34 * Math.min(1, shares[kind]);
          pen.fillStyle = colours[kind];
          pen.fillRect(dot, bottom - height, 1, height);
          bottom -= height;
        }
      }
    });
    data.waits.forEach(([begin, end], i) => {
      if (end < from || begin > to) return;
      pen.fillStyle = colour("--bad"); pen.globalAlpha = i === waits ? .3 : .12;
      pen.fillRect(Math.max(LEFT, x(begin)), TOP, Math.max(1.5, x(Math.min(end, to)) - Math.max(LEFT, x(begin))), high);
      pen.globalAlpha = 1;
    });
  }
  const show = (a, b) => {
    const least = 20 / data.unit, span = Math.min(all, Math.max(least, b - a));
    from = Math.min(Math.max(0, a), all - span); to = from + span;
    draw();
  };
  const zoom = (factor, at) => show(at - (at - from) * factor, at + (to - at) * factor);
  const under = event => from + (event.offsetX - LEFT) / Math.max(1, wide - LEFT) * (to - from);
  canvas.addEventListener("wheel", event => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : .8, under(event)); }, { passive: false });
  let held = null;
  canvas.addEventListener("pointerdown", event => { held = [event.clientX, from]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointerleave", () => { read.hidden = true; });
  canvas.addEventListener("pointermove", event => {
    if (held) {
      const moved = (held[0] - event.clientX) / Math.max(1, wide - LEFT) * (to - from), span = to - from;
      show(held[1] + moved, held[1] + moved + span);
      return;
    }
    const lane = lanes[Math.floor((event.offsetY - TOP) / ROW)], at = under(event);
    const i = lane ? first(lane.end, at) : -1;
    read.hidden = !lane || i >= lane.begin.length || lane.begin[i] > at;
    if (read.hidden) return;
    read.textContent = `${data.names[lane.owner[i]]}: ${time(lane.end[i] - lane.begin[i])}, from ${time(lane.begin[i])}`;
    read.style.left = Math.min(event.clientX + 14, innerWidth - 320) + "px"; read.style.top = event.clientY + 14 + "px";
  });
  const go = step => {
    if (!data.waits.length) return;
    waits = (waits + step + data.waits.length) % data.waits.length;
    const [begin, end] = data.waits[waits], margin = (end - begin) / 2;
    show(begin - margin, end + margin);
  };
  canvas.addEventListener("keydown", event => {
    const middle = (from + to) / 2, span = to - from;
    const act = {
      "+": () => zoom(.5, middle), "=": () => zoom(.5, middle), "-": () => zoom(2, middle), "0": () => show(0, all),
      ArrowLeft: () => show(from - span / 4, to - span / 4), ArrowRight: () => show(from + span / 4, to + span / 4),
      n: () => go(1), p: () => go(-1),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
