// Draws the charts of the overview from the data in the page; the tables beside them need no script.
const SIZE = 8;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const series = Array.from({ length: 9 }, (_, n) => read(`--chart-${n + 1}`));
  return { series, text: read("--body-fg"), line: read("--hairline-color"), body: read("--body-bg") };
}

// Each series has a pattern of its own, so that colour alone tells nothing.
const STROKES = [
  null,
  (c) => { c.moveTo(0, SIZE); c.lineTo(SIZE, 0); },
  (c) => { c.moveTo(0, SIZE / 2); c.lineTo(SIZE, SIZE / 2); },
  (c) => { c.moveTo(SIZE / 2, 0); c.lineTo(SIZE / 2, SIZE); },
  (c) => { c.moveTo(0, 0); c.lineTo(SIZE, SIZE); },
  (c) => { c.moveTo(0, SIZE / 2); c.lineTo(SIZE, SIZE / 2); c.moveTo(SIZE / 2, 0); c.lineTo(SIZE / 2, SIZE); },
  (c) => { c.arc(SIZE / 2, SIZE / 2, 1.5, 0, 2 * Math.PI); },
  (c) => { c.moveTo(0, 0); c.lineTo(SIZE, SIZE); c.moveTo(0, SIZE); c.lineTo(SIZE, 0); },
  (c) => { c.rect(2, 2, 4, 4); },
];

function fill(canvas, number, palette) {
  const colour = palette.series[number % palette.series.length];
  const stroke = STROKES[number % STROKES.length];
  if (!stroke) return colour;
  const tile = document.createElement("canvas");
  tile.width = tile.height = SIZE;
  const context = tile.getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, SIZE, SIZE);
  context.strokeStyle = palette.body;
  context.lineWidth = 1.5;
  context.beginPath();
  stroke(context);
  context.stroke();
  return canvas.getContext("2d").createPattern(tile, "repeat");
}

function datasets(canvas, data, palette) {
  return data.series.map((series, number) => ({
    label: series.label,
    data: series.data,
    backgroundColor: fill(canvas, number, palette),
    borderColor: palette.series[number % palette.series.length],
    borderWidth: 1,
    maxBarThickness: 28,
  }));
}

function options(data, palette) {
  const scale = (numbers) => ({
    stacked: data.stacked,
    beginAtZero: true,
    border: { color: palette.line },
    grid: { color: palette.line, display: numbers },
    ticks: { color: palette.text, precision: 0, autoSkip: numbers || data.stacked, maxRotation: 0, maxTicksLimit: numbers ? 7 : undefined },
  });
  const address = (elements) => elements.length && data.series[elements[0].datasetIndex].urls[elements[0].index];
  return {
    animation: false,
    maintainAspectRatio: false,
    indexAxis: data.stacked ? "x" : "y",
    locale: document.documentElement.lang,
    scales: data.stacked ? { x: scale(false), y: scale(true) } : { x: scale(true), y: scale(false) },
    plugins: { legend: { display: data.stacked, position: "bottom", labels: { color: palette.text } } },
    onClick: (event, elements) => { const url = address(elements); if (url) location.assign(url); },
    onHover: (event, elements) => { event.native.target.classList.toggle("leads", Boolean(address(elements))); },
  };
}

// A bar that lies down says its number beside its name.
function named(label, data, number) {
  const short = label.length > 18 ? `${label.slice(0, 17)}…` : label;
  return data.stacked ? short : `${short}  ${data.series[0].data[number].toLocaleString(document.documentElement.lang)}`;
}

const drawn = [];

function draw() {
  const palette = colours();
  drawn.splice(0).forEach((chart) => chart.destroy());
  document.querySelectorAll("canvas[data-chart]").forEach((canvas) => {
    const data = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
    const labels = data.labels.map((label, number) => named(label, data, number));
    drawn.push(new window.Chart(canvas, {
      type: "bar",
      data: { labels, datasets: datasets(canvas, data, palette) },
      options: options(data, palette),
    }));
  });
}

draw();
new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
