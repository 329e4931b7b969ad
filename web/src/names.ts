/* SPDX-License-Identifier: Apache-2.0 */
/* Shorter forms of names: without parameters, template arguments, additions of compilers
 * and namespaces. The last component is retained. */

const LETTERS_LEAST = 3; /* fewer say nothing */
const NAMES_MOST = 20000;
const OPENING = "(<[{", CLOSING = ")>]}";

/* The text without its outermost brackets of the kind and what they contain. An operator's
 * name, a name that begins with the bracket, and text with unmatched brackets remain. */
function withoutBrackets(text: string, open: string, close: string): string {
    let out = "";
    let depth = 0;
    for (let i = 0; i < text.length; i++) {
        const c = text.charAt(i);
        const arrow = close === ">" && c === ">" && text.charAt(i - 1) === "-";
        const ofName = (): boolean => i === 0 || /\boperator *[-<>=(]*$/.test(text.slice(Math.max(0, i - 14), i));
        if (c === open && (depth > 0 || !ofName()))
            depth++;
        else if (c === close && depth > 0 && !arrow)
            depth--;
        else if (depth === 0)
            out += c;
    }
    return depth === 0 ? out : text;
}

/* Additions of compilers, linkers and the kernel. */
function withoutAdditions(text: string): string {
    return text.replace(/@@?[A-Z][\w.]*$/, "").replace(/(\.(isra|part|constprop|cold|llvm|lto_priv|localalias)(\.\d+)*)+$/, "")
        .replace(/::h[0-9a-f]{16}$/, "").replace(/^__(x64|ia32|arm64|se)_(sys_|compat_sys_)/, "$2");
}

/* The components of a name, outside of brackets: "a::b::c", "a.b.c", "a/b/c"; not of "python3.11". */
function components(text: string): { from: number; text: string }[] {
    const out: { from: number; text: string }[] = [];
    let depth = 0;
    let from = 0;
    const cut = (at: number, length: number): void => {
        if (at > from && at + length < text.length)
            out.push({ from, text: text.slice(from, at) });
        from = at + length;
    };
    for (let i = 0; i < text.length; i++) {
        const c = text.charAt(i);
        if (OPENING.includes(c))
            depth++;
        else if (CLOSING.includes(c) && depth > 0)
            depth--;
        else if (depth === 0 && c === ":" && text.charAt(i + 1) === ":")
            cut(i++, 2);
        else if (depth === 0 && (c === "/" || (c === "." && /^[A-Za-z_$]/.test(text.slice(i + 1)) && /[\w$]$/.test(text.slice(0, i)))))
            cut(i, 1);
    }
    out.push({ from, text: text.slice(from) });
    return out;
}

/* "[kernel]" and "file.c:12" are not qualified names. */
function isQualified(text: string): boolean {
    return !/^\[.*\]$|^\d+(\.\d+)*$|^0x/.test(text) && !/\.(so|c|h|S|asm|cc|cpp|cxx|hh|hpp|hxx|tcc|pyx|cu|swift|kt|rs|go|py|js|ts|java|rb|php)([.:][\d.]*)?$/.test(text.replace(/.*\//, ""));
}

function make(name: string): string[] {
    const forms = [name];
    const add = (form: string): void => {
        const text = form.trim();
        if (text && text !== forms[forms.length - 1])
            forms.push(text);
    };
    const plain = isQualified(name);
    if (plain) {
        add(withoutBrackets(name, "(", ")").replace(/ (const|volatile|noexcept|&&?)$/, ""));
        add(withoutBrackets(forms[forms.length - 1] as string, "<", ">"));
        add(withoutAdditions(forms[forms.length - 1] as string));
    } else if (name.includes("/") && !/^\[/.test(name)) {
        add(name.slice(name.lastIndexOf("/") + 1));
        return forms;
    }
    const whole = forms[forms.length - 1] as string;
    const parts = plain ? components(whole) : [];
    for (const { from } of parts.slice(1))
        add(whole.slice(from));
    return forms;
}

/* Without parameters, template arguments and additions, but with all components. */
export function plainName(name: string): string {
    if (!isQualified(name))
        return name;
    const bare = withoutBrackets(withoutBrackets(name, "(", ")").replace(/ (const|volatile|noexcept|&&?)$/, ""), "<", ">");
    return withoutAdditions(bare).trim() || name;
}

const known = new Map<string, string[]>();

/* The name and its shorter forms, longest first; the last one is its last component. */
export function formsOf(name: string): string[] {
    let forms = known.get(name);
    if (!forms) {
        if (known.size > NAMES_MOST)
            known.clear();
        forms = make(name);
        known.set(name, forms);
    }
    return forms;
}

/* The longest form that fits; otherwise the beginning of the shortest one, or nothing. */
export function shorten(name: string, room: number, widthOf: (text: string, most: number) => number, advance: (character: string) => number): string {
    const forms = formsOf(name);
    const fit = forms.find((form) => (form === name || form.length >= LETTERS_LEAST) && widthOf(form, room) <= room);
    if (fit !== undefined)
        return fit;
    const all = forms.findLast((form) => form.length >= LETTERS_LEAST) ?? name;
    let left = room - advance("\u2026");
    let end = 0;
    while (end < all.length && left >= advance(all.charAt(end)))
        left -= advance(all.charAt(end++));
    if (/[\ud800-\udbff]/.test(all.charAt(end - 1)))
        end--;
    return end >= LETTERS_LEAST ? `${all.slice(0, end)}\u2026` : "";
}
