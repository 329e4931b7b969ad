# A name may hold any byte: the picture is well-formed, and no name is lost or becomes
# markup.
. "$TESTS/cli/lib.sh"

python3 - <<'END'
import random, re, subprocess, xml.dom.minidom

random.seed(1)
names = [bytes([b]) * 3 for b in range(256) if bytes([b]) not in (b"\n", b"\r", b";", b" ")]
names += [b"]]>", b"<!--", b"-->", b"<?xml?>", b"&#0;", b"&amp;", b"</title>", b"</svg>",
          b"<script>alert(1)</script>", b"'\"><g onload=x>", b"__proto__", b"constructor",
          b"\xef\xbf\xbe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"${x}",
          b"a" * 65536]
names += [bytes(random.choice(range(1, 256)) for _ in range(20)).translate(None, b"\n\r;")
          for _ in range(500)]
lines = b"".join(b"root;" + name + b" 10\n" for name in names if name.strip())
for options in ([], ["--pretty-xml"], ["--encoding", "ISO-8859-1"], ["--no-javascript"]):
    done = subprocess.run(["stoke", "flamegraph", "-q", "--format", "folded", "--minwidth",
                           "0", *options], input=lines, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.returncode
    document = xml.dom.minidom.parseString(done.stdout)
    groups = [g for g in document.getElementsByTagName("g")
              if g.parentNode.getAttribute("id") == "frames"]
    assert len(groups) > 700, len(groups)
    for g in groups:
        kinds = [child.tagName for child in g.childNodes if child.nodeType == 1]
        assert kinds in (["title", "rect"], ["title", "rect", "text"]), kinds
        for child in g.childNodes:
            if child.nodeType == 1 and child.tagName != "rect":
                assert all(node.nodeType == 3 for node in child.childNodes)
    scripts = document.getElementsByTagName("script")
    assert len(scripts) == (0 if "--no-javascript" in options else 2)
    text = done.stdout.decode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
END
