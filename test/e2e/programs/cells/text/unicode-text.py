import unicodedata

words = ["naïve", "Straße", "İstanbul", "日本語", "👩‍👩‍👧"]
for w in words:
    print(f"{w!r:>14} len={len(w)} upper={w.upper()} nfd={len(unicodedata.normalize('NFD', w))}")
words
# %%
"\ud83d".encode("utf-8")
# %%
"tab\there", "quote's", 'both "\'', "line\nbreak", b"\x00\xff", r"raw\n"
# %%
print("Olá".encode().decode("latin-1"))
"é" == "e\u0301", unicodedata.name("é")
