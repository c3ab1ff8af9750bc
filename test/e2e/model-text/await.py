import asyncio


async def fetch(n):
    await asyncio.sleep(0.01 * n)
    print("fetched", n)
    return n * n


await asyncio.gather(*(fetch(n) for n in (3, 1, 2)))
