import pickle, copy, cloudpickle

class Account:
    def __init__(self, owner, balance=0):
        self.owner, self.balance = owner, balance
    def __eq__(self, other):
        return vars(self) == vars(other)
    def __repr__(self):
        return f"Account({self.owner!r}, {self.balance})"

accounts = [Account("Ada", 10), Account("Bob")]
data = pickle.dumps(accounts)
pickle.loads(data) == accounts, type(accounts[0]).__module__
# %%
with open("accounts.pkl", "wb") as f:
    pickle.dump({"accounts": accounts}, f)
with open("accounts.pkl", "rb") as f:
    loaded = pickle.load(f)
loaded
# %%
double = cloudpickle.loads(cloudpickle.dumps(lambda v: v * 2))
double(21), copy.deepcopy(accounts)
# %%
pickle.dumps(lambda: 0)
