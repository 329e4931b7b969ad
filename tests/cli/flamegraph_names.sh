# SPDX-License-Identifier: Apache-2.0
# A name can contain any byte: the image is well-formed, no name is lost, and no name becomes
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

# Kernel functions are marked, independent of the name of the kernel's file; so are a guest's.
{
    echo 'app 7/8 1.0: 1 cycles:'
    i=0
    for module in '[guest.kernel.kallsyms]' '[kernel.kallsyms]' '[ext4]' /a/ext4.ko.zst \
        /usr/lib/debug/boot/vmlinux-5.4.14-cloudflare-2020.1.11 /b/vmlinux /c/vmlinux.debug \
        bpf_prog_2b956549c660136a_uni_l4lb; do
        i=$((i + 1))
        echo "        100$i k$i ($module)"
    done
    for module in /bin/app '[unknown]' /home/vmlinux-tools/app /bin/vmlinuxer; do
        i=$((i + 1))
        echo "        100$i u$i ($module)"
    done
    echo
} >modules.perf
status 0 stoke fold --kernel modules.perf
tr ';' '\n' <out | grep -c '^k[0-9]*_\[k\]' | grep -qx 8 || fail "marked: $(cat out)"
tr ';' '\n' <out | grep -q '^u[0-9]*_' && fail "marked: $(cat out)"

# Rust names in text: unchanged, or without hashes and escapes if requested.
cat >rust.perf <<'END'
app 7/8 1.0: 1 cycles:
	1 core::ops::function::FnOnce::call_once{{vtable.shim}}::h0123456789abcdef+0x10 (/bin/app)
	2 _$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::h89148bc07d25b3ae (/bin/app)
	3 log::set_logger::_$u7b$$u7b$closure$u7d$$u7d$::h347f6695ed91405f (/bin/app)
	4 _ZN4core3ptr13drop_in_place17h0123456789abcdefE (/bin/app)
	5 _RNvCs1234_7mycrate3foo (/bin/app)
	6 std::vector<int>::push_back(int) (/bin/app)
	7 main (/bin/app)

END
status 0 stoke fold rust.perf
says 'push_back;_RNvCs1234_7mycrate3foo;_ZN4core3ptr13drop_in_place17h0123456789abcdefE;log' out
says 'call_once{{vtable.shim}}::h0123456789abcdef 1' out
status 0 stoke fold --demangle full rust.perf
tr ';' '\n' <out >got
cat >want <<'END'
app
main
std::vector<int>::push_back(int)
mycrate::foo
core::ptr::drop_in_place
log::set_logger::{{closure}}
<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop
core::ops::function::FnOnce::call_once{{vtable.shim}} 1
END
same want got

# Upper case, as Perl's Getopt::Long takes it.
printf 'a;b 1\n' >case.folded
status 0 stoke flamegraph --title T --width 500 case.folded
cp out lower.svg
status 0 stoke flamegraph --Title T --WIDTH=500 case.folded
same lower.svg out
status 0 stoke flamegraph --TITLE T --Wid 500 case.folded
same lower.svg out
status 2 stoke flamegraph --TITEL T case.folded
says "unknown option '--TITEL'"
