"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const slider = document.getElementById("slider");
  const colours = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
  const bins = data.edges.length - 1;
  const W = 480, LEFT = 52, RIGHT = 14;
  const panes = [{ of: "background", top: 24, height: 210 }, { of: "signal", top: 250, height: 110 }]
    .filter(({ of }) => of in data.scores[0]);
  const last = panes.at(-1), BOTTOM = last.top + last.height;

  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const inside = (row) => row.slice(0, bins); // the last entry is what lies outside of all bins
  const shares = (row) => {
    const total = sum(row);
    return row.map((x) => (total > 0 ? x / total : 0));
  };

  // What passes a cut is the sum of all that passes no harder one.
  for (const score of data.scores) {
    for (const { of } of panes) {
      for (let k = 1; k < score[of].length; k++) {
        score[of][k] = score[of][k].map((x, i) => x + score[of][k - 1][i]);
      }
    }
    for (const squares of [score.squares, score.all_squares]) {
      for (let k = 1; k < squares.length; k++) squares[k] += squares[k - 1];
    }
  }
  const everything = (score, of) => score[of][score[of].length - 1];

  // One scale for all scores, a round one: it stays while the slider moves a little.
  function top(of, k) {
    const rows = data.scores.flatMap((score) => [score[of][k], everything(score, of)]);
    const highest = 1.1 * Math.max(...rows.map((row) => Math.max(...shares(inside(row)))), 1e-9);
    const unit = 10 ** Math.floor(Math.log10(highest));
    return [1, 1.5, 2, 3, 5, 7, 10].map((x) => x * unit).find((x) => x >= highest);
  }

  function jsd(passing, failing) {
    const [p, q] = [passing, failing].map((row) => shares(row.map((x) => Math.max(x, 0))));
    const part = (a, b) => sum(a.map((x, i) => (x > 0 ? x * Math.log((2 * x) / (x + b[i])) : 0)));
    return (part(p, q) + part(q, p)) / 2;
  }

  function numbers(score, k) {
    const all = everything(score, "background"), passing = score.background[k];
    const failing = all.map((x, i) => x - passing[i]);
    const kept = sum(passing) / sum(all);
    const squares = score.squares[k];
    const missed = score.squares[score.squares.length - 1] - squares;
    const filled = inside(all).filter((x) => x > 0).length;
    // In units of this a divergence is a chi-squared with one degree of freedom less than bins.
    const spread = squares / sum(inside(passing)) ** 2 + missed / sum(inside(failing)) ** 2;
    const degrees = filled - 1, inverse = 1 / jsd(inside(passing), inside(failing));
    const chi2 = 8 / (inverse * spread), excess = Math.max(chi2 - degrees, 0);
    const above = score.all_squares[k], below = score.all_squares.at(-1) - above;
    const error = Math.sqrt(above * (1 - kept) ** 2 + below * kept ** 2) / sum(all);
    const ideal = degrees > 2 ? 8 / ((degrees - 2) * spread) : NaN;
    return {
      cut: score.cuts[k],
      kept: [kept, error],
      rejection: kept > 0 ? [1 / kept, error / kept ** 2] : [Infinity, NaN],
      inverse: [inverse, inverse * Math.sqrt(2 * (degrees + 2 * excess)) / (degrees + excess)],
      ideal: [ideal, degrees > 4 ? ideal * Math.sqrt(2 / (degrees - 4)) : NaN],
    };
  }

  const text = (x, digits = 4) => {
    if (Number.isNaN(x)) return "n/a";
    if (!Number.isFinite(x)) return "∞";
    return Number(x.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
  };

  // A number and its error, to two digits of the error, as in the other tables.
  const withError = ([x, error], percent = "") => {
    if (!(Number.isFinite(x) && error > 0 && Number.isFinite(error))) return text(x) + percent;
    const decimals = Math.min(Math.max(0, 1 - Math.floor(Math.log10(error))), 12);
    const [a, b] = [x, error].map((y) => y.toLocaleString("en",
      { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
    return `${a} ± ${b}${percent}`;
  };

  function make(tag, attributes = {}, content = "", space = "http://www.w3.org/2000/svg") {
    const element = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = content;
    return element;
  }
  const cell = (tag, content, attributes = {}) =>
    make(tag, attributes, content, "http://www.w3.org/1999/xhtml");

  const [low, high] = [data.edges[0], data.edges[bins]];
  const across = (x) => LEFT + ((x - low) / (high - low)) * (W - LEFT - RIGHT);

  function ticks(from, to, count) {
    const rough = (to - from) / count, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((x) => x * unit).find((x) => x >= rough);
    const first = Math.ceil(from / step), last = Math.floor(to / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  }

  function steps(row, pane, top, closed) {
    const up = (y) => pane.top + pane.height * (1 - Math.min(Math.max(y / top, 0), 1));
    const points = row.map((y, i) => `${across(data.edges[i])} ${up(y)} ${across(data.edges[i + 1])} ${up(y)}`);
    const path = "M" + points.join(" L");
    return closed ? `${path} L${across(high)} ${up(0)} L${across(low)} ${up(0)} Z` : path;
  }

  function draw(score, colour) {
    const svg = make("svg", { viewBox: `0 0 ${W} ${BOTTOM + 40}`, role: "img" });
    svg.append(make("text", { class: "title", x: LEFT, y: 14, fill: colour }, score.name));
    const parts = {};
    for (const pane of panes) {
      const bottom = pane.top + pane.height;
      parts[pane.of] = {
        before: make("path", { class: "before" }),
        after: make("path", { class: "after", stroke: colour, "data-of": pane.of }),
        scale: make("g", { class: "scale" }),
      };
      svg.append(...Object.values(parts[pane.of]));
      svg.append(make("rect", { class: "frame", x: LEFT, y: pane.top, width: W - LEFT - RIGHT, height: pane.height }));
      svg.append(make("text", { x: W - RIGHT - 8, y: pane.top + 18, "text-anchor": "end" }, pane.of));
      const marks = data.categories.length ? data.categories.map((_, i) => i) : ticks(low, high, 6);
      for (const x of marks) svg.append(make("path", { class: "frame", d: `M${across(x)} ${bottom}v-5` }));
      if (pane === last) {
        marks.forEach((x, i) => svg.append(make("text", { x: across(x), y: bottom + 16, "text-anchor": "middle" },
          data.categories.length ? data.categories[i] : text(x))));
      }
    }
    svg.append(make("text", { x: W - RIGHT, y: BOTTOM + 34, "text-anchor": "end" }, data.name));
    svg.append(make("text", { transform: `translate(12 ${panes[0].top}) rotate(-90)`, "text-anchor": "end" }, "fraction of events"));
    const figure = cell("div", "", { class: "drawing" });
    figure.append(svg);
    document.getElementById("spectra").append(figure);
    return { svg, parts };
  }
  const drawings = data.scores.map((score, i) => draw(score, colours[i]));

  function move({ before, after, scale }, score, pane, k) {
    const highest = top(pane.of, k), bottom = pane.top + pane.height;
    before.setAttribute("d", steps(shares(inside(everything(score, pane.of))), pane, highest, true));
    after.setAttribute("d", steps(shares(inside(score[pane.of][k])), pane, highest, false));
    scale.replaceChildren();
    for (const y of ticks(0, highest, pane.height / 40)) {
      const at = bottom - (y / highest) * pane.height;
      scale.append(make("path", { class: "frame", d: `M${LEFT} ${at}h5` }));
      scale.append(make("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, text(y, 3)));
    }
  }

  function show() {
    const percent = Number(slider.value), k = percent - 1;
    document.getElementById("chosen").textContent = `${percent}%`;
    slider.setAttribute("aria-valuetext", `${percent}% of the ${data.cut_on} passes`);
    const readout = document.querySelector("#readout tbody");
    readout.replaceChildren();
    data.scores.forEach((score, i) => {
      for (const pane of panes) move(drawings[i].parts[pane.of], score, pane, k);
      const n = numbers(score, k);
      drawings[i].svg.setAttribute("aria-label",
        `Spectra of ${data.name} after a cut on the ${score.name} that keeps ${percent}% of the ${data.cut_on}: ` +
        `1/JSD ${text(n.inverse[0])}, a random selection gets about ${text(n.ideal[0])}`);
      const row = cell("tr", "");
      row.append(cell("th", score.name, { scope: "row" }));
      const kept = n.kept.map((x) => 100 * x);
      for (const x of [text(n.cut), withError(kept, "%"), ...[n.rejection, n.inverse, n.ideal].map((y) => withError(y))]) {
        row.append(cell("td", x));
      }
      readout.append(row);
    });
    tabulate(k);
  }

  function tabulate(k) {
    const columns = [];
    for (const { of } of panes) {
      columns.push([`${of} before`, shares(inside(everything(data.scores[0], of)))]);
      for (const score of data.scores) columns.push([`${of}, ${score.name}`, shares(inside(score[of][k]))]);
    }
    const head = cell("tr", "");
    for (const name of [data.name, ...columns.map(([name]) => name)]) head.append(cell("th", name, { scope: "col" }));
    document.querySelector("#contents thead").replaceChildren(head);
    document.querySelector("#contents tbody").replaceChildren(...data.bins.map((name, i) => {
      const row = cell("tr", "");
      row.append(cell("th", name, { scope: "row" }));
      for (const [, values] of columns) row.append(cell("td", text(values[i])));
      return row;
    }));
  }

  slider.addEventListener("input", show);
  show();
})();
