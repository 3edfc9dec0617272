// How a model stands with its server: what a refused key, a closed port and a server without a list of models come to.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../../../src/agents/models/openai-compatible.ts'
import { loadConfig } from '../../../../src/config.ts'
import { secret } from '../../../../src/lib/secret.ts'
import { freePort } from '../../../doubles/free-port.ts'

const key = 'sk-key-of-the-tests'
const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function startServer(status: number): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`)
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"data":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked }
}

async function ask(baseUrl: string) {
  const config = loadConfig({ PARLEY_MODEL_URL: baseUrl, PARLEY_MODEL: 'gpt-x', PARLEY_MODEL_KEY: key }, {}, [])
  const [found] = config.agents.flatMap(({ modelProbes = [] }) => modelProbes)
  const result = await found?.probe({ signal: AbortSignal.timeout(3_000) })
  expect(JSON.stringify(result ?? null)).not.toContain(key)
  return { name: found?.name, result }
}

test.each([
  [200, '', []],
  [404, '(the key is not known to be right: status 404)', []],
  [500, '(the key is not known to be right: status 500)', []],
  [401, '', [{ state: 'failed', reason: 'key_refused', problem: 'key refused (401)' }]],
  [403, '', [{ state: 'failed', reason: 'key_refused', problem: 'key refused (403)' }]],
])('a server that answers the list of models with %i', async (status, summary, problems) => {
  const { url, asked } = await startServer(status)
  const { name, result } = await ask(url)
  expect(name).toBe(`gpt-x at ${new URL(url).host}`)
  expect(result).toMatchObject({ summary, problems })
  if (problems.length > 0) expect(result?.problems[0]?.remedy).toContain('set PARLEY_MODEL_KEY')
  expect(asked).toEqual([`GET /v1/models Bearer ${key}`])
})

test('a server that is not there is told with what the network says', async () => {
  const { result } = await ask(`http://127.0.0.1:${await freePort()}/v1`)
  expect(result?.problems).toEqual([
    {
      state: 'degraded',
      reason: 'unreachable',
      problem: 'its server cannot be reached (ECONNREFUSED)',
      remedy: 'check the network and PARLEY_MODEL_URL',
    },
  ])
})

test('every model of an agent that has several is asked about', () => {
  const [one, two] = ['gpt-x', 'gpt-y'].map((model) =>
    openAiCompatible({ baseUrl: 'https://models.example.org/v1', model, apiKey: secret(key) }),
  )
  if (one === undefined || two === undefined) return expect.unreachable()
  const { modelProbes } = defineAgent({ slug: 'helper', instructions: 'Help.', model: [one, two] })
  expect(modelProbes?.map(({ name }) => name)).toEqual(['gpt-x at models.example.org', 'gpt-y at models.example.org'])
})
