/* SPDX-License-Identifier: Apache-2.0 */
/* Colours of source text: comments, strings, numbers and keywords, by rules that the languages
 * share. What they do not know stays plain. */

export type Kind = "" | "comment" | "string" | "literal" | "keyword";

export interface Token {
    kind: Kind;
    text: string;
}

const WITH_HASH = /\.(py|pyx|rb|pl|pm|sh|jl|R|ex|exs|nim)$/; /* comments begin with # */
const WITH_CHARACTERS = /\.(c|h|cc|cpp|cxx|c\+\+|hh|hpp|hxx|inc|inl|rs|go|java|kt|cs|d|zig|cu|cuh)$/; /* '...' is one character */

const KEYWORDS = new Set(("abstract and as assert async auto await begin bool break case catch char class const constexpr continue crate def default "
    + "defer del delete do double elif else end enum except explicit export extends extern false False final finally float fn for foreach from func function "
    + "global go goto if impl implements import in inline instanceof int interface is let lambda long loop match mod module move mut mutable namespace "
    + "new nil None nonlocal noexcept not null nullptr operator or override package pass private protected pub public raise ref register rescue restrict "
    + "return self Self short signed sizeof static static_cast struct super switch template then this throw throws trait true True try type typedef typename "
    + "uint union unless unsafe unsigned use using var virtual void volatile when where while with yield").split(" "));

const NAME = /[A-Za-z_$][\w$]*/.source, NUMBER = /\d[\w.]*/.source, DOUBLE = /"(?:\\.|[^"\\])*"?/.source;
const CHARACTER = /'(?:\\[^']*|\\'|[^'\\])'/.source, SINGLE = /'(?:\\.|[^'\\])*'?/.source;
const SLASHES = /\/\/.*|\/\*.*?(?:\*\/|$)/.source, HASH = /#.*/.source;

function kindOf(text: string): Kind {
    if (/^(\/\/|\/\*|#)/.test(text))
        return "comment";
    if (/^["']/.test(text))
        return "string";
    return /^\d/.test(text) ? "literal" : KEYWORDS.has(text) ? "keyword" : "";
}

export class Syntax {
    private readonly pattern: RegExp;
    private readonly hash: boolean;

    constructor(file: string) {
        this.hash = WITH_HASH.test(file);
        this.pattern = new RegExp([this.hash ? HASH : SLASHES, DOUBLE, WITH_CHARACTERS.test(file) ? CHARACTER : SINGLE, NUMBER, NAME].join("|"), "g");
    }

    /* For each line whether it begins within a comment of several lines. */
    begins(lines: string[]): boolean[] {
        let inside = false;
        return lines.map((line) => {
            const before = inside;
            const end = inside ? line.indexOf("*/") : -1;
            if (!this.hash && line.length && (!inside || end >= 0) && line.includes("/*", Math.max(0, end)))
                inside = this.tokens(line, before).findLast((token) => token.text)?.text.match(/^\/\*(?!.*\*\/)/) != null;
            else
                inside = inside && end < 0;
            return before;
        });
    }

    /* All of a line as parts, in order. */
    tokens(line: string, inside: boolean): Token[] {
        const out: Token[] = [];
        const end = inside ? line.indexOf("*/") : -2;
        let at = 0;
        if (end === -1)
            return [{ kind: "comment", text: line }];
        if (end >= 0) {
            at = end + 2;
            out.push({ kind: "comment", text: line.slice(0, at) });
        }
        this.pattern.lastIndex = at;
        for (let found = this.pattern.exec(line); found; found = this.pattern.exec(line)) {
            const kind = kindOf(found[0]);
            if (!kind)
                continue;
            if (found.index > at)
                out.push({ kind: "", text: line.slice(at, found.index) });
            out.push({ kind, text: found[0] });
            at = found.index + found[0].length;
        }
        if (at < line.length)
            out.push({ kind: "", text: line.slice(at) });
        return out;
    }
}
