from wordcloud import WordCloud
import matplotlib.pyplot as plt

text = "data science python data plot cloud word python data"
wc = WordCloud(width=200, height=100, random_state=1, background_color="white").generate(text)
plt.imshow(wc, interpolation="bilinear")
plt.axis("off")
plt.show()
sorted(wc.words_.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
# %%
wc.to_image()
