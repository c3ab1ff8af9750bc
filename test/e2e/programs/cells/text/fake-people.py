from faker import Faker
import pandas as pd

fake = Faker("de_DE")
Faker.seed(4321)
people = pd.DataFrame([{"name": fake.name(), "city": fake.city(), "born": fake.date_of_birth(minimum_age=30, maximum_age=31).year > 1900} for _ in range(3)])
people
# %%
fake.profile(fields=["job"])
