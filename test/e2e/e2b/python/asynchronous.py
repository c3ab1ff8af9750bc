"""The same SDK with coroutines: streams of files and commands, and several sandboxes at once."""

import asyncio

from e2b_code_interpreter import AsyncSandbox


async def watch(sandbox):
    events = asyncio.Queue()
    await sandbox.files.make_dir("watched")
    handle = await sandbox.files.watch_dir("watched", on_event=events.put, timeout=30)
    await sandbox.files.write("watched/a.txt", "one")
    first = await asyncio.wait_for(events.get(), 10)
    assert (first.name, first.type.value) == ("a.txt", "create"), first
    await sandbox.files.rename("watched/a.txt", "watched/b.txt")
    seen = set()
    while ("b.txt", "create") not in seen:
        event = await asyncio.wait_for(events.get(), 10)
        seen.add((event.name, event.type.value))
    assert ("a.txt", "rename") in seen, seen
    await handle.stop()


async def commands(sandbox):
    printed = []
    command = await sandbox.commands.run("read line; echo got $line", background=True, stdin=True, on_stdout=printed.append)
    await sandbox.commands.send_stdin(command.pid, "this\n")
    assert (await command.wait()).exit_code == 0 and "".join(printed) == "got this\n"


async def one_of_many(number):
    sandbox = await AsyncSandbox.create(timeout=60)
    await sandbox.run_code(f"x = {number}")
    answer = await sandbox.run_code("x * 2")
    await sandbox.kill()
    return int(answer.text)


async def main():
    sandbox = await AsyncSandbox.create(timeout=60)
    try:
        await watch(sandbox)
        await commands(sandbox)
    finally:
        await sandbox.kill()
    assert await asyncio.gather(*map(one_of_many, range(5))) == [0, 2, 4, 6, 8]
    print("done")


asyncio.run(main())
