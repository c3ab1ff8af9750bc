from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo
import pytz
from dateutil import parser, relativedelta

start = datetime(2024, 3, 30, 12, tzinfo=ZoneInfo("Europe/Berlin"))
later = start + timedelta(days=1)
start, later.utcoffset() - start.utcoffset()
# %%
parser.parse("5 March 2023 14:30 UTC"), date(2024, 2, 29) + relativedelta.relativedelta(years=1)
# %%
print(start.astimezone(ZoneInfo("Asia/Tokyo")).isoformat())
pytz.timezone("US/Eastern").localize(datetime(2024, 7, 4)).strftime("%A %d %B %Y %H:%M %Z")
# %%
(date(2024, 12, 25) - date(2024, 1, 1)).days, date(2024, 1, 1).isocalendar(), timedelta(hours=49.5)
# %%
datetime.strptime("2024-13-01", "%Y-%m-%d")
