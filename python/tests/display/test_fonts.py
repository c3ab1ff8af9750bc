"""Tests of drawing text of all scripts with matplotlib."""

import io
import unittest
import warnings

from _vivarium.display import fonts

try:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import font_manager
    from matplotlib import pyplot as plt
except ImportError:
    matplotlib = None  # type: ignore[assignment]

TEXTS = {"Japanese": "日", "Chinese": "汉", "Korean": "한", "Arabic": "ب", "Hindi": "ह", "Thai": "ก", "emoji": "😀"}
# What models and people put into titles and labels, with flags, joined ones and those of the last years.
EMOJI = (
    "😀😂🤣😊😍🥰😎🤔🥳😭😡🤯🫠🥹🫡👍👎👏🙏💪👋🤝✌️👀🫶🧠👶👩👨👵🏃🚶🧍🧑‍💻👨‍👩‍👧🔥✨⭐🌟💯✅❌⚠️❗❓🚀🎉🎊🎁🏆🥇🎯"
    "📈📉📊📌📅📝📦📧📞💡🔍🔒🔑🔔🛠️⚙️🧪🩺🤖💻📱🖥️💾🪄🌍🌎🌏🗺️🌱🌳🌸🌻🍎🍌🍕🍔☕🍺🐶🐱🐼🦊🦄🐍🦀🐘🐢🪿"
    "🚗🚕🚌🚲✈️🚂🚢🏠🏢🏥🏫☀️🌤️☁️🌧️⛈️❄️🌈💧🌊❤️🧡💛💚💙💜🖤🩷💔💰💵💳🪙🇫🇷🇯🇵🇺🇸🔴🟠🟡🟢🔵🟣⚫⚪🟥🟩🟦"
    "⬆️⬇️➡️⬅️🔄♻️☎️⏰⏳⚡🎵🎨🎬🎮⚽🏀🏈🎾1️⃣🛜"
)
BOX = "\U0010fffd"  # no font has it


def picture_of(text: str, **options: object) -> bytes:
    """Return the pixels of a text."""
    figure = plt.figure(figsize=(1, 1))
    figure.text(0.2, 0.2, text, fontsize=30, **options)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="raw")
    plt.close(figure)
    return buffer.getvalue()


@unittest.skipIf(matplotlib is None or len(fonts.directories()) < 5, "needs matplotlib and the fonts of the full set")
class Fonts(unittest.TestCase):
    def setUp(self) -> None:
        fonts.complete(font_manager)
        plt.rcdefaults()

    def test_text_of_every_script_is_drawn_without_boxes_and_without_warnings(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            box = picture_of(BOX)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            drawn = {name: picture_of(text) for name, text in TEXTS.items()}
        for name, picture in drawn.items():
            self.assertNotEqual(picture, box, name)
        self.assertEqual(len({*drawn.values()}), len(TEXTS))

    def test_a_font_that_the_program_chose_comes_first_and_the_others_behind_it(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertNotEqual(picture_of("a", family="monospace"), picture_of("a"))
            for family in ("monospace", "serif"):
                self.assertEqual(picture_of("日한", family=family), picture_of("日한"))

    def test_fonts_of_other_systems_lead_to_one_of_the_same_script(self) -> None:
        for family, text in (("SimHei", "汉"), ("Malgun Gothic", "한"), ("Noto Sans CJK JP", "日")):
            with self.subTest(family):
                self.assertEqual(picture_of(text, family=family), picture_of(text))

    def test_pages_and_drawings_hold_the_text_too(self) -> None:
        for form in ("pdf", "svg"):
            figure = plt.figure()
            figure.text(0.1, 0.5, "".join(TEXTS.values()))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                figure.savefig(io.BytesIO(), format=form)
            plt.close(figure)

    def test_a_second_call_changes_nothing(self) -> None:
        before = len(font_manager.fontManager.ttflist)
        fonts.complete(font_manager)
        self.assertEqual(len(font_manager.fontManager.ttflist), before)


@unittest.skipIf(
    matplotlib is None or not any("imgui_bundle" in place for place in fonts.directories()),
    "needs matplotlib and the font of imgui-bundle",
)
class Emoji(unittest.TestCase):
    def test_no_emoji_is_a_box(self) -> None:
        fonts.complete(font_manager)
        plt.rcdefaults()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            picture_of(EMOJI)
            picture_of(EMOJI, family="serif")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            box = picture_of(BOX)
        drawn = [picture_of(one) for one in "🚀👍📈🪿"]
        self.assertEqual(len({box, *drawn}), 5)


if __name__ == "__main__":
    unittest.main()
