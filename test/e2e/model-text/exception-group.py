import asyncio
import json


async def parse(text):
    return json.loads(text)


async with asyncio.TaskGroup() as group:
    group.create_task(parse("[1]"))
    group.create_task(parse("[1,"))
