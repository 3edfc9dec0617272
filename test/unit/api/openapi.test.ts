// The document about the API is open to anybody: what it costs does not grow with how often it is asked for.
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { addOpenApiRoutes } from '../../../src/api/openapi.ts'

test('the document is made once, and names the address that each caller asked', async () => {
  let made = 0
  const gateway = {
    get connections() {
      made += 1
      return []
    },
  } as unknown as Parameters<typeof addOpenApiRoutes>[1]['gateway']
  const app = new Hono()
  addOpenApiRoutes(app, { gateway } as unknown as Parameters<typeof addOpenApiRoutes>[1])
  await app.request('http://first.example/openapi.json')
  const once = made
  for (const host of ['one.example', 'two.example', 'one.example']) {
    const document = await (await app.request(`http://${host}/openapi.json`)).json()
    expect(document).toMatchObject({ openapi: '3.1.1', servers: [{ url: `http://${host}` }] })
    expect((await app.request(`http://${host}/docs/api`)).status).toBe(200)
  }
  expect(once).toBeGreaterThan(0)
  expect(made).toBe(once)
})
