import nltk
from nltk.stem import PorterStemmer
from nltk.tokenize import RegexpTokenizer
from nltk import FreqDist, bigrams, edit_distance

tokens = RegexpTokenizer(r"\w+").tokenize("The runners were running, and the runner ran easily.".lower())
stems = [PorterStemmer().stem(t) for t in tokens]
FreqDist(stems).most_common(3)
# %%
list(bigrams(tokens[:4])), edit_distance("kitten", "sitting")
# %%
try:
    nltk.word_tokenize("needs data")
except LookupError as error:
    print("Resource" in str(error))
