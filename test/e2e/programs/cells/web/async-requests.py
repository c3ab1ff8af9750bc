import asyncio
import httpx

async def fetch(client, n):
    r = await client.get(f"http://localhost:8000/api/items?limit={n}")
    return len(r.json()["items"])

async def main():
    async with httpx.AsyncClient() as client:
        return await asyncio.gather(*(fetch(client, n) for n in (1, 2, 3)))

await main()
