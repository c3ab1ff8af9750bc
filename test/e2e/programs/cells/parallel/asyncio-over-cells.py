import asyncio

progress = []

async def ticker(name, n):
    for i in range(n):
        progress.append(f"{name}{i}")
        await asyncio.sleep(0.01)
    return name

task = asyncio.create_task(ticker("a", 3))
task.done()
# %%
results = await asyncio.gather(ticker("b", 2), task)
print(results, sorted(progress))
# %%
async def slow():
    await asyncio.sleep(30)

await asyncio.wait_for(slow(), timeout=0.05)
# %%
async def numbers():
    for i in range(3):
        yield i
        await asyncio.sleep(0)

print([n async for n in numbers()])
async with asyncio.timeout(1):
    value = await asyncio.sleep(0.01, "slept")
value
# %%
q = asyncio.Queue()
async def producer():
    for i in range(3):
        await q.put(i)
    await q.put(None)
asyncio.ensure_future(producer())
got = []
while (item := await q.get()) is not None:
    got.append(item)
got
# %%
async with asyncio.TaskGroup() as tg:
    t1 = tg.create_task(ticker("c", 1))
    t2 = tg.create_task(ticker("d", 1))
t1.result(), t2.result()
