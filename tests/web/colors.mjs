/* The colours of the page: contrast of text, lines and areas, and the distance between
 * categories, also for colour-blind users. Prints TAP.
 *
 * colors.mjs STYLE.css */
import fs from "node:fs";

const style = fs.readFileSync(process.argv[2], "utf8");
const DEUTAN = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]];
const PROTAN = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];
const TRITAN = [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]];

let number = 0;
let failed = 0;

function report(name, wrong) {
    console.log(`${wrong.length ? "not ok" : "ok"} ${++number} - ${name}`);
    for (const line of wrong)
        console.log(`# ${line}`);
    failed += wrong.length ? 1 : 0;
}

/* The tokens of a theme: name to colour. */
function tokensOf(selector) {
    const body = style.slice(style.indexOf(`${selector} {`)).match(/\{([^}]*)\}/)[1];
    return Object.fromEntries([...body.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, color]) => [name, color]));
}

function linear(color) {
    return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
        .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
}

function ratio(a, b) {
    const light = [a, b].map((color) => {
        const [red, green, blue] = linear(color);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    });
    return (Math.max(...light) + 0.05) / (Math.min(...light) + 0.05);
}

function oklab([red, green, blue]) {
    const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
    const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
    const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
    return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}

/* 100 times the distance, as seen with the colour vision of the matrix. */
function distance(a, b, matrix) {
    const [x, y] = [a, b].map((color) => {
        const seen = linear(color);
        return oklab(matrix ? matrix.map((row) => row.reduce((sum, part, i) => sum + part * seen[i], 0)) : seen);
    });
    return 100 * Math.hypot(...x.map((value, i) => value - y[i]));
}

const contour = (color) => `#${[1, 3, 5].map((at) => Math.round(Number.parseInt(color.slice(at, at + 2), 16) * 0.74).toString(16).padStart(2, "0")).join("")}`;
const categories = (tokens, name) => Array.from({ length: 12 }, (_, i) => tokens[`${name}-${i + 1}`]);

const themes = [
    { name: "light", tokens: tokensOf(":root"), boxText: "#1b1f24", box: 10.3, strip: 7.4, near: [14.8, 8.7, 7.8, 6.0] },
    { name: "dark", tokens: tokensOf(":root[data-theme=dark]"), boxText: "#f2f4f7", box: 5.4, strip: 5.1, near: [13.4, 7.9, 7.1, 5.4] },
];
const TEXT = [["t1", "bg"], ["t1", "sunk"], ["t1", "hover"], ["t2", "sunk"], ["t3", "bg"], ["t3", "sunk"], ["t3", "accbg"], ["t3", "raise"], ["acc", "bg"],
    ["acc", "accbg"], ["warn", "sunk"], ["bad", "bg"], ["good", "bg"], ["t1", "barbg"]];

for (const { name, tokens, boxText, box, strip, near } of themes) {
    const wrong = [];
    const least = (what, got, expected) => {
        if (!(got >= expected - 0.05))
            wrong.push(`${what}: ${got.toFixed(2)}, expected ${expected}`);
    };
    for (const [text, ground] of TEXT)
        least(`${text} on ${ground}`, ratio(tokens[text], tokens[ground]), 4.5);
    least("the control outline", ratio(tokens.edge, tokens.bg), 3);
    least("white on rec", ratio("#ffffff", tokens.rec), 4.5);
    report(`text and controls of the ${name} theme have contrast`, wrong);

    wrong.length = 0;
    const boxes = categories(tokens, "cat"), strips = categories(tokens, "strip");
    for (const color of boxes)
        least(`text on the box ${color}`, ratio(color, boxText), box);
    for (const color of strips)
        least(`text on the strip ${color}`, ratio(color, "#14171b"), strip);
    least("text on the colour of other processes", ratio(tokens.other, boxText), 4.5);
    if (name === "light")
        for (const color of strips)
            least(`the contour of ${color}`, ratio(contour(color), tokens.bg), 3.87);
    for (const [i, matrix] of [null, DEUTAN, PROTAN, TRITAN].entries())
        for (let at = 1; at < 12; at++)
            least(`${strips[at - 1]} beside ${strips[at]} (${["normal", "deutan", "protan", "tritan"][i]})`, distance(strips[at - 1], strips[at], matrix), near[i]);
    report(`categories of the ${name} theme have contrast, and neighbours differ`, wrong);

    wrong.length = 0;
    for (const wait of ["lock", "disk", "network", "cpu"])
        if (!(ratio(tokens[`wait-${wait}`], tokens[`wait-${wait}-bg`]) >= 2))
            wrong.push(`${wait}: ${ratio(tokens[`wait-${wait}`], tokens[`wait-${wait}-bg`]).toFixed(2)}`);
    report(`the hatches of waits are visible in the ${name} theme`, wrong);
}
console.log(`1..${number}`);
process.exit(failed ? 1 : 0);
