"""Tests of MIME bundles and of publishing them in order."""

import base64
import builtins
import importlib.util
import json
import os
import sys
import tempfile
import unittest

from _vivarium.display import notebook
from _vivarium.display.budget import LAST, MAX_RESULTS
from _vivarium.display.publisher import Publisher, bundle

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
HAS_IPYTHON = importlib.util.find_spec("IPython") is not None


def valued(**methods: object) -> object:
    """An object with methods that return the values given, or raise them."""

    def method(result: object):
        def call(self: object, **_: object) -> object:
            if isinstance(result, BaseException):
                raise result
            return result

        return call

    members = {f"_repr_{name}_": method(result) for name, result in methods.items()}
    return type("Rich", (), {**members, "__repr__": lambda self: "rich"})()


class Bundles(unittest.TestCase):
    def test_a_plain_value_has_its_text(self) -> None:
        self.assertEqual(bundle([1, "a"]), {"text/plain": "[1, 'a']"})
        self.assertEqual(bundle(None), {"text/plain": "None"})

    def test_every_representation_method_is_used(self) -> None:
        value = valued(
            html="<b>",
            markdown="*",
            svg="<svg/>",
            png=PNG,
            jpeg=(b"\xff\xd8", {"width": 1}),
            latex="$x$",
            json={"a": [1]},
            javascript="1",
            pdf=b"%PDF",
        )
        self.assertEqual(
            bundle(value),
            {
                "text/plain": "rich",
                "text/html": "<b>",
                "text/markdown": "*",
                "image/svg+xml": "<svg/>",
                "image/png": PNG,
                "image/jpeg": b"\xff\xd8",
                "text/latex": "$x$",
                "application/json": '{"a": [1]}',
                "application/javascript": "1",
                "application/pdf": b"%PDF",
            },
        )

    def test_a_mime_bundle_wins_over_other_methods(self) -> None:
        encoded = base64.b64encode(PNG).decode()
        data = {"text/html": "<i>", "image/png": encoded, "application/vnd.x+json": {"n": 1}, 5: "x", "nonsense": "x"}
        got = bundle(valued(html="<b>", markdown="*", mimebundle=(data, {"text/html": {}})))
        self.assertEqual(
            got,
            {
                "text/plain": "rich",
                "text/html": "<i>",
                "text/markdown": "*",
                "image/png": PNG,
                "application/vnd.x+json": '{"n": 1}',
            },
        )

    def test_a_representation_of_none_is_left_out_silently(self) -> None:
        self.assertEqual(bundle(valued(html=None, png=NotImplementedError(), mimebundle=None)), {"text/plain": "rich"})

    def test_the_text_says_which_representations_failed(self) -> None:
        cycle: list[object] = []
        cycle.append(cycle)
        for methods in (
            {"html": ValueError("no")},
            {"html": SystemExit()},
            {"html": 5},
            {"png": "§"},
            {"json": cycle},
            {"json": float("nan")},
            {"mimebundle": ValueError("no")},
            {"html": b"\xff"},
        ):
            with self.subTest(methods.keys()):
                got = bundle(valued(**methods))
                self.assertEqual(list(got), ["text/plain"])
                self.assertRegex(str(got["text/plain"]), r"^rich\n\(.+ left out: \w+: .*\)$")

    def test_huge_representations_are_left_out(self) -> None:
        got = bundle(valued(html="x" * 2_000, markdown="y"), limit=1_000)
        self.assertEqual(got, {"text/plain": "rich\n(text/html of 2000 bytes left out)", "text/markdown": "y"})
        self.assertLessEqual(len(bundle("x" * 10**7)["text/plain"]), 20_000)

    def test_an_interrupt_passes_through(self) -> None:
        with self.assertRaises(KeyboardInterrupt):
            bundle(valued(html=KeyboardInterrupt()))

    def test_an_object_that_claims_every_attribute_is_shown_as_text(self) -> None:
        class Claims:
            def __getattr__(self, name: str) -> object:
                return lambda *_, **__: "<b>"

            __repr__ = lambda self: "claims"  # noqa: E731

        self.assertEqual(bundle(Claims()), {"text/plain": "claims"})
        self.assertEqual(bundle(type(valued(html="<b>"))), {"text/plain": f"{__name__}.Rich"})

    def test_an_object_that_lies_about_its_class_is_shown_as_text(self) -> None:
        class Liar:
            __class__ = property(lambda self: 1 / 0)  # type: ignore[assignment]
            __repr__ = lambda self: "liar"  # noqa: E731

        self.assertEqual(bundle(Liar()), {"text/plain": "liar"})


class Publishing(unittest.TestCase):
    def setUp(self) -> None:
        self.items: list[dict] = []
        self.finders = list(sys.meta_path)
        self.publisher = Publisher(self.items.append)
        notebook.install(builtins, self.publisher)
        self.publisher.begin_run()

    def tearDown(self) -> None:
        sys.meta_path[:] = self.finders
        del builtins.display  # type: ignore[attr-defined]
        for name in [name for name in sys.modules if name.partition(".")[0] == "IPython"]:
            del sys.modules[name]

    def run_code(self, code: str) -> None:
        exec(code, {"__builtins__": builtins})

    def test_display_is_a_builtin_and_keeps_order(self) -> None:
        self.run_code("display(1, 'b')\ndisplay({'text/html': '<b>', 'text/plain': 'c'}, raw=True)")
        self.publisher.echo([4])
        self.publisher.end_run()
        self.assertEqual(
            [(one["kind"], one["data"]["text/plain"]) for one in self.items],
            [
                ("display", "1"),
                ("display", "'b'"),
                ("display", "c"),
                ("result", "[4]"),
            ],
        )
        self.assertEqual(self.items[2]["data"]["text/html"], "<b>")
        self.assertFalse(hasattr(builtins, "get_ipython"))

    @unittest.skipIf(HAS_IPYTHON, "IPython itself is installed")
    def test_the_usual_imports_work_without_ipython(self) -> None:
        self.assertNotIn("IPython", sys.modules)
        self.run_code(
            "from IPython.display import display, clear_output, HTML, Markdown, JSON, Image, SVG, Latex\n"
            "from IPython.core.display import HTML as H\n"
            "import IPython; assert IPython.get_ipython() is None\n"
            "display(HTML('<b>'), Markdown('*m*'), JSON({'a': 1}), H('h'))\n"
            "clear_output(wait=True)\n"
            "handle = display(1, display_id=True); handle.update(2)\n"
        )
        self.assertEqual(
            [{**one["data"], "text/plain": ""} for one in self.items[:4]],
            [
                {"text/plain": "", "text/html": "<b>"},
                {"text/plain": "", "text/markdown": "*m*"},
                {"text/plain": "", "application/json": '{"a": 1}'},
                {"text/plain": "", "text/html": "h"},
            ],
        )
        self.assertEqual((self.items[4]["kind"], self.items[4]["wait"]), ("clear", True))
        self.assertEqual([one["data"]["text/plain"] for one in self.items[5:]], ["1", "2"])

    def test_images_come_from_files_bytes_and_addresses(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.png")
            with open(path, "wb") as file:
                file.write(PNG)
            for image in (
                notebook.Image(path),
                notebook.Image(filename=path),
                notebook.Image(PNG),
                notebook.Image(data=PNG),
            ):
                self.assertEqual(bundle(image)["image/png"], PNG)
        self.assertEqual(
            bundle(notebook.Image(url="https://x/?a=1&b"))["text/html"], '<img src="https://x/?a=1&amp;b"/>'
        )
        with self.assertRaises(FileNotFoundError):
            notebook.Image("missing.png")

    def test_a_value_can_display_itself(self) -> None:
        self.run_code(
            "class Widget:\n"
            "    def _ipython_display_(self): display('part one'); display('part two')\n"
            "class Broken:\n"
            "    def _ipython_display_(self): 1 / 0\n"
            "    def __repr__(self): return 'broken'\n"
            "display(Widget(), Broken())"
        )
        self.assertEqual([one["data"]["text/plain"] for one in self.items], ["'part one'", "'part two'", "broken"])

    def test_a_forked_child_publishes_nothing(self) -> None:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            self.publisher.publish(1)
            os.write(writer, str(len(self.items)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(os.read(reader, 10), b"0")
        os.close(reader)
        os.close(writer)

    def test_of_too_many_results_the_last_come_before_the_value(self) -> None:
        cuts: list[dict] = []
        publisher = Publisher(self.items.append, on_cut=cuts.append)
        publisher.begin_run()
        for number in range(MAX_RESULTS + 1_000):
            publisher.publish(number)
        self.assertEqual(len(self.items), MAX_RESULTS)
        publisher.echo("value")
        publisher.end_run()
        texts = [one["data"]["text/plain"] for one in self.items[MAX_RESULTS:]]
        last = [str(MAX_RESULTS + 1_000 - LAST + number) for number in range(LAST)]
        self.assertEqual(texts, [*last, "'value'"])
        self.assertEqual([one["total"] - one["kept"] for one in cuts], [1 << power for power in range(10)])
        report = publisher.report()
        self.assertEqual((report["total"], report["kept"]), (MAX_RESULTS + 1_001, MAX_RESULTS + LAST + 1))
        publisher.begin_run()
        self.assertIsNone(publisher.report())

    def test_a_form_that_is_too_large_is_counted(self) -> None:
        publisher = Publisher(self.items.append, limit=1_000)
        publisher.publish(valued(html="x" * 2_000))
        self.assertEqual(publisher.report()["totalBytes"] - publisher.report()["keptBytes"], 2_000)

    def test_items_hold_only_json_and_bytes(self) -> None:
        self.publisher.publish(valued(html="\ud800", json=[1]))
        self.assertEqual(self.items[0]["data"]["text/html"], "\N{REPLACEMENT CHARACTER}")
        json.dumps(self.items[0]["data"], ensure_ascii=False).encode()


if __name__ == "__main__":
    unittest.main()
